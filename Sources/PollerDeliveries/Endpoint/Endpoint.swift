package import PollerIdentity
package import PollerQueue
package import PollerWatches

/// A registered recipient of an account's events, with its settings.
///
/// Inline `notify` URLs of a watch are not endpoints in this sense: they apply to that watch only, are signed with the
/// cluster's secret and have no settings.
package struct Endpoint: Hashable, Sendable {
    /// Whether events are sent to the endpoint.
    package enum State: Hashable, Sendable {
        case enabled
        /// No events are sent; those recorded within ``catchUp`` after `at` stay pending.
        case disabled(reason: String, at: Timestamp, by: Disabler = .person)
    }

    /// The party that disabled an endpoint.
    package enum Disabler: Hashable, Sendable {
        /// A caller or an operator, by a request or in the configuration file.
        case person
        /// This system, because the endpoint answered 410 or has accepted nothing for days.
        case ourselves
    }

    /// The form of a message body.
    package enum Payload: String, Hashable, Sendable, CaseIterable {
        /// The event as it was recorded.
        case full
        /// Only its ID, type, account, source, seq, status and final: the recipient reads the rest.
        case thin
    }

    /// The fallback: another endpoint receives an event that this one has not accepted in time.
    package struct NotifyBy: Hashable, Sendable {
        /// The span after the recording of the event, 1 s to 7 d.
        package let within: Duration
        package let fallback: EndpointID

        /// Checks the span.
        package init(within: Duration, fallback: EndpointID) throws(InvalidInput) {
            guard within >= .seconds(1), within <= .seconds(7 * 86_400) else {
                throw InvalidInput("notify_by.within", "must be a duration from 1s to 7d")
            }
            self.within = within
            self.fallback = fallback
        }
    }

    /// The maximum number of registered endpoints of a cluster: each notifier keeps a copy of all, some KiB each.
    package static let countMax = 10_000
    /// The maximum number of live secrets.
    ///
    /// A leaked secret is replaced once, so more than two overlaps are a mistake.
    package static let secretsMax = 3
    /// The time for which a disabled endpoint's events stay pending.
    ///
    /// After a longer time its owner requests a replay, so that unused events do not accumulate in the store.
    package static let catchUp = Duration.seconds(86_400)
    /// The maximum timeout: the default lease of a delivery, 45 s, less the 15 s that an attempt may overrun.
    package static let timeoutMax = Duration.seconds(30)

    package let id: EndpointID
    package let account: AccountID
    /// The name, unique within the account; `nil` for none.
    ///
    /// It is the key in the configuration file (``isOfFile``), or the name given through the API.
    package var name: String?
    package var url: NotifyURL
    package var scope = EndpointScope.everything
    /// Whether after a failure only the newest pending event and the final one are sent.
    package var coalesces = false
    package var retry = RetryChoice.standard
    /// The total time limit of one attempt; `nil` for that of the channel.
    package var timeout: Duration?
    /// The endpoint's own limit; `nil` for the default.
    package var limit: LaneLimit?
    package var headers: [EndpointHeader] = []
    package var payload = Payload.full
    /// The secrets, newest first; expired ones may still be among them.
    package var secrets: [EndpointSecret]
    package var state = State.enabled
    package var notifyBy: NotifyBy?
    package let createdAt: Timestamp
    package var updatedAt: Timestamp

    /// Creates an endpoint with default settings; the store sets the times.
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

    /// Returns the endpoint as created at this instant, for a store.
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

    /// Copies all settings except the URL and the secrets.
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

    /// Whether events are sent to the endpoint.
    package var isEnabled: Bool { state == .enabled }

    /// The lane of its deliveries.
    package var lane: LaneID { LaneID(endpoint: id) }

    /// Checks the rules that span several fields.
    ///
    /// Each field has been checked on its own.
    package func check() throws(InvalidInput) {
        if let timeout, timeout < .seconds(1) || timeout > Self.timeoutMax {
            throw InvalidInput("timeout", "must be a duration from 1s to \(Self.timeoutMax.text)")
        }
        try EndpointHeader.check(headers)
        try checkSide()
        let isWebhook = url.isWebhook
        guard headers.isEmpty || isWebhook else {
            throw InvalidInput("headers", "apply only to webhooks")
        }
        guard timeout == nil || isWebhook else {
            throw InvalidInput("timeout", "applies only to webhooks; other channels have their own")
        }
        guard notifyBy?.fallback != id else {
            throw InvalidInput("notify_by.endpoint", "is the endpoint itself; use another one")
        }
        guard secrets.count <= Self.secretsMax else {
            throw InvalidInput(
                "secret",
                "has \(secrets.count) values; at most \(Self.secretsMax) are live at once"
            )
        }
        guard !isWebhook || !secrets.isEmpty else {
            throw InvalidInput("secret", "is required for webhooks")
        }
    }

    /// Returns the secrets that sign at this instant, newest first.
    package func secrets(at now: Timestamp) -> [WebhookSecret] {
        secrets.filter { $0.isLive(at: now) }.map(\.secret)
    }

    /// Whether the endpoint subscribes to the event, according to the event's own data.
    ///
    /// A new endpoint does not receive earlier events of a source, except by a replay.
    package func subscribes(to event: Event) -> Bool {
        event.key.account == account && event.polledAt >= createdAt && scope.includes(event)
    }

    /// The time until which recorded events are kept for it; `nil` for an enabled endpoint.
    var collectsUntil: Timestamp? {
        switch state {
        case .enabled: nil
        case .disabled(_, let since, _): since + Self.catchUp
        }
    }

    /// Adds a new secret; the others continue to sign for `overlap`.
    ///
    /// It is rejected when more than ``secretsMax`` would be live, because a secret must not end before its time. A
    /// repeat of the same request changes nothing.
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
                "overlap",
                "\(kept.count) secrets are live\(end); wait, or rotate with an overlap of 0s"
            )
        }
        secrets = [EndpointSecret(secret, request: request)] + kept
    }
}
