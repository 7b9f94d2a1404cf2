package import PollerQueue
package import PollerWatches

/// An action that a poll takes after the upstream's answer, such as charging a source that became chargeable.
///
/// ``PollHandler`` runs a list of them, one after the other; ``PaymentFollowUps`` makes the list. Each gets the
/// outcome so far and returns the one that ``PollDecider`` decides on when no later action replaces it. When an
/// outcome was not committed, the next poll repeats the action, so it must be safe to repeat: by an idempotency key,
/// or because the upstream shows that it was done.
package protocol FollowUp: Sendable {
    /// Adds the settings of the account to the requests of a watch, before the poll.
    func prepare(_ watch: inout Watch)

    /// Acts on the outcome of a poll if it is time to, and returns the new outcome.
    ///
    /// Returns `outcome` itself when there is nothing to do. Never throws: every failure is an outcome. Each request
    /// takes at most `LeasedItem.limit` of `timeout`.
    func act(
        on outcome: PollOutcome,
        _ context: inout PollContext,
        _ leased: LeasedItem<Watch>,
        timeout: Duration
    ) async -> PollOutcome
}

extension FollowUp {
    /// Adds nothing.
    package func prepare(_ watch: inout Watch) {}
}

extension LeasedItem<Watch> {
    /// The part of the lease that a poll leaves for its commit.
    private static var commitMargin: Duration { .seconds(1) }

    /// Returns the time for the next request of a poll, `timeout` at most; `nil` when its result could not be committed
    /// within the lease.
    package func limit(_ timeout: Duration) -> Duration? {
        let limit = min(timeout, clock.remaining - Self.commitMargin)
        return limit > .zero ? limit : nil
    }
}
