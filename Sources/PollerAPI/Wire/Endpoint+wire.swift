import Poller
import PollerWire

extension PollerWire.Endpoint {
    /// An endpoint as readers are told of it.
    ///
    /// `secret`: the newest one, only in the answers to its creation and rotation; `health`: how
    /// its lane stands, only when it is read alone and has something to tell. Values of
    /// headers are never told: they are the receiver's secrets as much as ours are.
    init(_ endpoint: Poller.Endpoint, secret: WebhookSecret? = nil, health: LaneReport? = nil) {
        self.init()
        id = endpoint.id.description
        account = endpoint.account.description
        name = endpoint.name
        url = endpoint.url.description
        self.secret = secret?.reveal
        if case .disabled(let reason, let at) = endpoint.state {
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
            return end
        }
        createdAt = Time(endpoint.createdAt)
        updatedAt = Time(endpoint.updatedAt)
        self.health = health.map { EndpointHealth($0) }
    }
}
