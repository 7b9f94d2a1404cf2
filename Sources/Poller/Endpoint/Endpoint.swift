package import PollerIdentity
package import PollerQueue

/// A place somebody registered to be told about the events of an account, with what they chose.
///
/// Inline `notify` URLs of a watch are no endpoints in this sense: they hold for that watch
/// alone, are signed with the cluster's one secret and have no choices.
package struct Endpoint: Hashable, Sendable {
    /// Whether it is told anything.
    package enum State: Hashable, Sendable {
        case enabled
        /// Nothing is sent; what is recorded within ``catchUp`` from `at` on waits.
        case disabled(reason: String, at: Timestamp, by: Disabler = .person)
    }

    /// Who has disabled an endpoint.
    package enum Disabler: Hashable, Sendable {
        /// Somebody who wanted that, by a request or in the configuration file.
        case person
        /// We, because it wants nothing more or has accepted nothing for days.
        case ourselves
    }

    /// What the body of a message is.
    package enum Payload: String, Hashable, Sendable, CaseIterable {
        /// The event as it was recorded.
        case full
        /// Its id, type, account, source, seq, status and final alone: the receiver asks for more.
        case thin
    }

    /// The fallback: another endpoint is told when this one has not accepted an event in time.
    package struct NotifyBy: Hashable, Sendable {
        /// The span from the recording of the event, 1 s to 7 d.
        package let within: Duration
        package let fallback: EndpointID

        /// Checks the span.
        package init(within: Duration, fallback: EndpointID) throws(InvalidInput) {
            guard within >= .seconds(1), within <= .seconds(7 * 86_400) else {
                throw InvalidInput(
                    field: "notify_by.within",
                    message: "must be a span from 1s to 7d"
                )
            }
            self.within = within
            self.fallback = fallback
        }
    }

    /// Registered endpoints of a cluster: each notifier keeps a copy of all, some KiB each.
    package static let countMax = 10_000
    /// A leaked secret is replaced once; more than two overlaps are a mistake.
    package static let secretsMax = 3
    /// A day off is caught up with by itself; after longer the owner asks for a replay, so that
    /// what nobody fetches does not pile up in the store.
    package static let catchUp = Duration.seconds(86_400)
    /// The default lease of a delivery, 45 s, less the 15 s an attempt may overrun.
    package static let timeoutMax = Duration.seconds(30)

    package let id: EndpointID
    package let account: AccountID
    /// The name, unique within the account; nil for none.
    ///
    /// It is the key in the configuration file (``isOfFile``), or the name given through the API.
    package var name: String?
    package var url: NotifyURL
    package var scope = EndpointScope.everything
    /// After a failure only the newest of the events that wait is told, and the final one.
    package var coalesces = false
    package var retry = RetryChoice.standard
    /// For one attempt, all in all; nil for the channel's own.
    package var timeout: Duration?
    /// Nil for what holds for every endpoint.
    package var limit: LaneLimit?
    package var headers: [EndpointHeader] = []
    package var payload = Payload.full
    /// Newest first; those whose time has passed may still be among them.
    package var secrets: [EndpointSecret]
    package var state = State.enabled
    package var notifyBy: NotifyBy?
    package let createdAt: Timestamp
    package var updatedAt: Timestamp

    /// An endpoint with the standard choices; the store sets the times.
    package init(
        id: EndpointID,
        account: AccountID,
        name: String? = nil,
        url: NotifyURL,
        secrets: [EndpointSecret] = [],
        createdAt: Timestamp = Timestamp(ms: 0),
        updatedAt: Timestamp = Timestamp(ms: 0)
    ) {
        self.id = id
        self.account = account
        self.name = name
        self.url = url
        self.secrets = secrets
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// The endpoint as a store takes it in, created at this instant.
    package func stamped(_ now: Timestamp) -> Endpoint {
        var stamped = Endpoint(
            id: id,
            account: account,
            name: name,
            url: url,
            secrets: secrets,
            createdAt: now,
            updatedAt: now
        )
        stamped.choose(from: self)
        return stamped
    }

    /// Takes over all that an owner can choose but the URL and the secrets.
    package mutating func choose(from other: Endpoint) {
        name = other.name
        scope = other.scope
        coalesces = other.coalesces
        retry = other.retry
        timeout = other.timeout
        limit = other.limit
        headers = other.headers
        payload = other.payload
        notifyBy = other.notifyBy
        state = other.state
    }

    /// Whether it is told anything.
    package var isEnabled: Bool { state == .enabled }

    /// The lane of its deliveries.
    package var lane: LaneID { LaneID(endpoint: id) }

    /// Checks what spans several fields; the fields have checked themselves.
    package func check() throws(InvalidInput) {
        if let timeout, timeout < .seconds(1) || timeout > Self.timeoutMax {
            throw InvalidInput(
                field: "timeout",
                message: "must be a span from 1s to \(Self.timeoutMax.text)"
            )
        }
        try EndpointHeader.check(headers)
        try checkSide()
        let isWebhook = url.isWebhook
        guard headers.isEmpty || isWebhook else {
            throw InvalidInput(field: "headers", message: "are for webhooks")
        }
        guard timeout == nil || isWebhook else {
            throw InvalidInput(
                field: "timeout",
                message: "is for webhooks; other channels have one of their own"
            )
        }
        guard notifyBy?.fallback != id else {
            throw InvalidInput(
                field: "notify_by.endpoint",
                message: "is the endpoint itself; name another one"
            )
        }
        guard secrets.count <= Self.secretsMax else {
            throw InvalidInput(
                field: "secret",
                message: "has \(secrets.count) values; at most \(Self.secretsMax) are live at once"
            )
        }
        guard !isWebhook || !secrets.isEmpty else {
            throw InvalidInput(field: "secret", message: "is required for webhooks")
        }
    }

    /// The secrets that sign at this instant, newest first.
    package func secrets(at now: Timestamp) -> [WebhookSecret] {
        secrets.filter { $0.isLive(at: now) }.map(\.secret)
    }

    /// Whether the event belongs to what this endpoint asked for, as far as the event tells.
    ///
    /// A new endpoint is not told a source's past: that is what a replay is for.
    package func wants(_ event: Event) -> Bool {
        event.key.account == account && event.polledAt >= createdAt && scope.wants(event)
    }

    /// Whether an event recorded now is kept for it.
    package func collects(at now: Timestamp) -> Bool {
        collectsUntil.map { now < $0 } ?? true
    }

    /// Before when an event must be recorded to be kept for it; nil for one that is enabled.
    var collectsUntil: Timestamp? {
        switch state {
        case .enabled: nil
        case .disabled(_, let since, _): since + Self.catchUp
        }
    }

    /// Puts a new secret before the others, which go on signing for `overlap`.
    ///
    /// Refused when an overlap would leave more than ``secretsMax`` live: a secret must not end
    /// before its time. A repeat of the same request changes nothing.
    package mutating func rotate(
        to secret: WebhookSecret,
        overlap: Duration,
        request: String? = nil,
        at now: Timestamp
    ) throws(InvalidInput) {
        if request != nil, secrets.first?.request == request { return }
        let kept = secrets.map { $0.ending(by: now + overlap) }.filter { $0.isLive(at: now) }
        guard kept.count < Self.secretsMax else {
            let end = kept.compactMap(\.endsAt).min().map { " until \($0)" } ?? ""
            throw InvalidInput(
                field: "overlap",
                message:
                    "\(kept.count) secrets are live\(end); wait, or rotate with an overlap of 0s"
            )
        }
        secrets = [EndpointSecret(secret, request: request)] + kept
    }
}
