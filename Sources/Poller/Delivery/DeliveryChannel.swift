import PollerIdentity

/// A way to tell a customer: webhook, email.
///
/// Subscribers that are connected right now (WebSocket, SSE) are no channel in this sense: the
/// gateway feeds them from the outbox, with a cursor the client keeps.
package protocol DeliveryChannel: Sendable {
    /// The URL schemes this channel serves, lower case.
    var schemes: Set<String> { get }
    /// The longest an attempt may take, all in all; the lease must be longer by 15 s.
    var timeout: Duration { get }
    /// The waits between attempts; when they are used up, the event is given up for this endpoint.
    var schedule: RetrySchedule { get }

    /// Whether after a failure the newest event stands for all that wait, whatever the endpoint
    /// chose: a mail about a state that has passed would only confuse.
    var isSuperseding: Bool { get }

    /// Whether an attempt is given the watch as it is now: what the shop has said of it is in no event.
    var readsWatch: Bool { get }

    /// Whether customers of this channel are told about such an event at all.
    func wants(_ event: Event) -> Bool

    /// The message about an event as this channel composes it now, for people; sends nothing.
    ///
    /// `nil` if the channel sends nothing to the recipient for this event.
    func message(of event: Event, to target: DeliveryTarget) async -> SentMessage?

    /// Makes one attempt. Never throws: whatever happens is one of the results.
    ///
    /// `attempt` is 1 for the first; the event id is the same for all.
    func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult
}

extension DeliveryChannel {
    package var isSuperseding: Bool { false }
    package var readsWatch: Bool { false }

    /// The event's JSON, which every channel for programs sends.
    package func message(of event: Event, to target: DeliveryTarget) async -> SentMessage? {
        SentMessage(
            type: "application/json",
            recipient: target.url.description,
            composed: target.body(of: event)
        )
    }
}

/// Stands in where no channel of this process serves a URL's scheme: mail without a relay.
///
/// Another notifier may have one, so it goes first; while none has, each attempt fails here, by the
/// schedule of webhooks, until the event is given up like any other: a dead letter that can be sent
/// again once the channel is configured. Like a mail, only the newest of what waits is worth it.
struct MissingChannel: DeliveryChannel {
    let scheme: String

    var schemes: Set<String> { [scheme] }
    var timeout: Duration { .zero }
    var schedule: RetrySchedule { .webhook }
    var isSuperseding: Bool { true }

    func wants(_ event: Event) -> Bool { true }

    func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        .failed("no channel for \(scheme): is POLLER_SMTP_URL set?", .local)
    }
}
