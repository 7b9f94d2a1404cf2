import PollerIdentity
package import PollerWatches

/// A way to deliver events to a recipient: webhook, email, or a Redis stream.
///
/// Connected subscribers (WebSocket, SSE) are not channels in this sense: the gateway serves them from the outbox, with
/// a cursor that the client keeps.
package protocol DeliveryChannel: Sendable {
    /// The URL schemes of this channel, in lower case.
    var schemes: Set<String> { get }
    /// The total time limit of an attempt; the lease must be longer by 15 s.
    var timeout: Duration { get }
    /// The waits between attempts; after the last one the event is dead-lettered for this endpoint.
    var schedule: RetrySchedule { get }

    /// Whether the newest event replaces all pending ones after a failure, even if the endpoint chose otherwise: an
    /// email about an outdated state would only confuse.
    var isSuperseding: Bool { get }

    /// Whether an attempt needs the current watch, because the events do not contain the shop's metadata.
    var readsWatch: Bool { get }

    /// Whether recipients of this channel receive such an event at all.
    func supports(_ event: Event) -> Bool

    /// Composes the message about an event, for people, without sending it.
    ///
    /// `nil` if the channel sends nothing to the recipient for this event.
    func message(of event: Event, to target: DeliveryTarget) async -> SentMessage?

    /// Makes one attempt.
    ///
    /// It never throws: every failure is a result. `attempt` is 1 for the first; the event ID is the same for all.
    func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult
}

extension DeliveryChannel {
    package var isSuperseding: Bool { false }
    package var readsWatch: Bool { false }

    /// Returns the event's JSON, which every channel for programs sends.
    package func message(of event: Event, to target: DeliveryTarget) async -> SentMessage? {
        SentMessage(
            type: "application/json",
            recipient: target.url.description,
            composed: target.body(of: event)
        )
    }
}

extension DeliveryChannel {
    /// Returns whether a target is sent an event in its turn, when nobody requested it.
    func sends(_ event: Event, to target: DeliveryTarget) -> Bool {
        !event.isRestored && supports(event) && target.endpoint?.subscribes(to: event) ?? true
    }
}

/// The channels of a process, by the URL schemes that they serve.
struct DeliveryChannels: Sendable {
    private let byScheme: [String: any DeliveryChannel]

    /// Creates a table of these channels.
    init(_ channels: [any DeliveryChannel]) {
        var byScheme: [String: any DeliveryChannel] = [:]
        for channel in channels {
            for scheme in channel.schemes { byScheme[scheme] = channel }
        }
        self.byScheme = byScheme
    }

    /// The schemes that are served.
    var schemes: [String] { Array(byScheme.keys) }

    /// Returns the channel for a scheme, which fails every attempt if none serves it (``MissingChannel``).
    func channel(for scheme: String) -> any DeliveryChannel {
        byScheme[scheme] ?? MissingChannel(scheme: scheme)
    }
}

/// The channel for a URL scheme that no channel of this process serves, such as email without a relay.
///
/// Another notifier may have the channel, so it goes first. If none has, each attempt fails here, by the schedule of
/// webhooks, until the event is dead-lettered. It can be sent again once the channel is configured. As for email, only
/// the newest pending event is sent.
struct MissingChannel: DeliveryChannel {
    let scheme: String

    var schemes: Set<String> { [scheme] }
    var timeout: Duration { .zero }
    var schedule: RetrySchedule { .webhook }
    var isSuperseding: Bool { true }

    func supports(_ event: Event) -> Bool { true }

    func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        .misconfigured("no channel for \(scheme): is POLLER_SMTP_URL set?")
    }
}
