import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWire
import StandardWebhooks

extension PollerWire.Endpoint {
    /// Creates the API representation of an endpoint.
    ///
    /// `secret` is the newest one, given only in the responses to creation and rotation. `health` is given only if
    /// there is something to report. Header values are never returned: they are secrets of the recipient, too.
    init(
        _ endpoint: PollerDeliveries.Endpoint,
        secret: WebhookSecret? = nil,
        health: PollerWire.EndpointHealth? = nil
    ) {
        self.init()
        id = endpoint.id.description
        account = endpoint.account.description
        name = endpoint.name
        origin = Open(endpoint.isOfFile ? .file : .api)
        url = endpoint.url.description
        // Only this server needs the private half of an Ed25519 key.
        self.secret = secret.flatMap { $0.signing == .hmac ? $0.reveal : nil }
        signing = endpoint.secrets.first.map { Open(rawValue: $0.secret.signing.rawValue) }
        if case .disabled(let reason, let at, _) = endpoint.state {
            state = Open(.disabled)
            disabledReason = reason
            disabledAt = Time(at)
        }
        types = endpoint.scope.types
        sources = endpoint.scope.sources.map(\.description).sorted()
        metadata = Texts(endpoint.scope.metadata)
        isFinalOnly = endpoint.scope.finalOnly
        isCoalescing = endpoint.coalesces
        retry =
            if case .own(let schedule) = endpoint.retry {
                .waits(schedule.waits.map(\.text))
            } else {
                .named(endpoint.retry.name ?? "default")
            }
        timeout = endpoint.timeout.map { Span($0) }
        limit = endpoint.limit.map { PollerWire.LaneLimit($0, isDefault: false) }
        headers = Texts(
            Dictionary(endpoint.headers.map { ($0.name, "(redacted)") }) { first, _ in first }
        )
        payload = Open(rawValue: endpoint.payload.rawValue)
        if let fallback = endpoint.notifyBy {
            notifyBy = Fallback(
                within: Span(fallback.within),
                endpoint: fallback.fallback.description
            )
        }
        secrets = endpoint.secrets.map { secret in
            var end = Secret()
            end.expiresAt = secret.endsAt.map { Time($0) }
            end.publicKey = secret.secret.publicKey
            return end
        }
        createdAt = Time(endpoint.createdAt)
        updatedAt = Time(endpoint.updatedAt)
        self.health = health
    }
}

extension RequestChanges {
    /// Records the change of an endpoint, with header values shown only as changed.
    func recordChange(from old: PollerDeliveries.Endpoint?, to new: PollerDeliveries.Endpoint?) {
        guard let target = new ?? old else { return }
        recordChange(
            AuditTarget(target),
            of: target.account,
            from: old.map { PollerWire.Endpoint($0) },
            to: new.map { PollerWire.Endpoint($0) },
            hiddenDiffer: ConfiguredChanges.hidden(old, new)
        )
    }
}

extension PollerDeliveries.Endpoint {
    /// Applies a change and validates the endpoint as a whole.
    ///
    /// Absent values stay unchanged, and null restores the default.
    ///
    /// Errors: a ``Problem`` that names the field.
    mutating func apply(_ change: EndpointChange, of backend: EndpointBackend) throws(Problem) {
        if let url = try change.checkedURL(for: backend) { self.url = url }
        let changed = try Problem.checked { [self] () throws(InvalidInput) in
            var endpoint = self
            if change.name.isGiven {
                endpoint.name = try change.name.value.map(PollerDeliveries.Endpoint.checkedName)
            }
            endpoint.scope = try EndpointScope(
                types: change.types.or(scope.types, []),
                sources: change.sources.or(scope.sources.map(\.description), []),
                metadata: change.metadata.or(Texts(scope.metadata), [:]).dictionary,
                finalOnly: change.finalOnly.or(scope.finalOnly, false)
            )
            guard change.ordering.or("source", "source") == "source" else {
                throw InvalidInput(
                    "ordering",
                    "must be source: events of the same source are delivered in order, "
                        + "independently of other sources."
                )
            }
            endpoint.coalesces = change.coalesce.or(coalesces, false)
            switch change.retry {
            case .keep: break
            case .standard: endpoint.retry = try RetryChoice(named: "default")
            case .set(.named(let name)): endpoint.retry = try RetryChoice(named: name)
            // The check rejects a wait of zero.
            case .set(.waits(let waits)):
                endpoint.retry = try RetryChoice(
                    waits: waits.map { Span($0)?.duration ?? .zero }
                )
            }
            if change.timeout.isGiven { endpoint.timeout = change.timeout.value?.duration }
            if change.headers.isGiven {
                endpoint.headers = []
                for header in change.headers.value?.entries ?? [] {
                    endpoint.headers.append(try EndpointHeader(header.name, header.value))
                }
            }
            let payload = change.payload.or(Open(rawValue: payload.rawValue), Open(.full))
            guard let payload = Payload(rawValue: payload.rawValue) else {
                throw InvalidInput("payload", "must be full or thin.")
            }
            endpoint.payload = payload
            if change.notifyBy.isGiven {
                endpoint.notifyBy = try change.notifyBy.value.map { other throws(InvalidInput) in
                    try NotifyBy(
                        within: other.within.duration,
                        fallback: EndpointID(other.endpoint)
                    )
                }
            }
            return endpoint
        }
        self = changed
        if change.limit.isGiven {
            limit = try change.limit.value.flatMap { asked throws(Problem) in
                try asked.limit(from: limit ?? backend.standardLimit)
            }
        }
        let whole = self
        try Problem.checked { () throws(InvalidInput) in try whole.check() }
    }
}

extension EndpointChange {
    /// Returns the URL; `nil` if none is given.
    func checkedURL(for backend: EndpointBackend) throws(Problem) -> NotifyURL? {
        guard let url else { return nil }
        return try Problem.checked { () throws(InvalidInput) in
            let checked = try NotifyURL(url, field: "url")
            try backend.check(checked, field: "url")
            return checked
        }
    }
}

extension NewEndpoint {
    /// Returns the requested signature scheme.
    func checkedSigning(of url: NotifyURL) throws(Problem) -> WebhookSigning {
        guard let named = signing else { return .hmac }
        guard url.isWebhook else {
            throw Problem(
                .invalidValue,
                "Only webhooks are signed; leave out signing.",
                field: "signing"
            )
        }
        guard let signing = WebhookSigning(rawValue: named.rawValue) else {
            throw Problem.value("signing", "must be hmac or ed25519.")
        }
        return signing
    }
}

extension Change {
    /// Returns the value after the change: the current one, the default, or the given one.
    fileprivate func or(_ current: Value, _ standard: Value) -> Value {
        switch self {
        case .keep: current
        case .standard: standard
        case .set(let value): value
        }
    }
}
