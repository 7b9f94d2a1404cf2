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
    /// chose: nobody wants a letter that was true yesterday.
    var isSuperseding: Bool { get }

    /// Whether customers of this channel are told about such an event at all.
    func wants(_ event: Event) -> Bool

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
}
