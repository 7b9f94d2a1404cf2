package import Logging
package import PollerIdentity
package import PollerOperations
package import PollerQueue
package import PollerWatches

/// Polls a watch: reads from the upstream, runs the follow-ups, and lets the ``PollDecider`` decide.
///
/// In one poll each follow-up acts at most once, in this order:
/// 1. A watch that has ended its workers too often is not polled: it is quarantined.
/// 2. The source, its charge, or both are read from the upstream (``UpstreamReads``).
/// 3. Each ``FollowUp`` acts on the answer if it is time to: it charges, refunds, captures or cancels.
/// 4. The decider turns the ``PollOutcome`` into a `Decision`.
///
/// No request is sent whose result could not be recorded: each request may take the rest of the lease, less a margin
/// for the commit. A cancelled poll releases the watch: a truncated answer is no evidence, and a repeated action has
/// the same result.
///
/// A class, because each poll holds its handler during its requests. A copy of all its values took 1 % of a poll.
package final class PollHandler<Provider: Upstream>: ItemHandler {
    private let reads: UpstreamReads<Provider>
    private let followUps: [any FollowUp]
    private let decider: PollDecider
    private let tracer: (any WorkTracer)?
    private let onPaid: @Sendable (AccountID) -> Void
    private let jitter: JitterSource
    let metrics = PollMetrics()
    let logger: Logger

    /// Creates a handler whose polls take at most `timeout`, from the connection to the last byte.
    ///
    /// The follow-ups act in the order of the list. Without a reader of payments only statuses are reported. Without a
    /// tracer events continue the trace of the watch. A watch with malformed answers for `quarantineAfter` is
    /// quarantined. `onPaid` is called with the account when a poll has observed received money.
    package init(
        upstream: Provider,
        followUps: [any FollowUp] = [],
        payments: (any PaymentReader)? = nil,
        timeout: Duration,
        quarantineAfter: Duration = PollDecider.quarantineAfter,
        tracer: (any WorkTracer)? = nil,
        onPaid: @escaping @Sendable (AccountID) -> Void = { _ in },
        logger: Logger
    ) {
        // The seed is random, so that the waits of processes differ.
        var system = SystemRandomNumberGenerator()
        jitter = JitterSource(seed: system.next())
        decider = PollDecider(quarantineAfter: quarantineAfter)
        reads = UpstreamReads(
            upstream: upstream,
            payments: payments,
            decider: decider,
            timeout: timeout
        )
        self.followUps = followUps
        self.tracer = tracer
        self.onPaid = onPaid
        self.logger = logger
    }

    package func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        if leased.lease.crashes >= Lease<Watch>.poisonAt { return quarantined(leased) }
        var watch = leased.lease.item
        for followUp in followUps { followUp.prepare(&watch) }
        let polledAt = leased.clock.now
        // A thousand polls wait for an answer at a time, so this frame holds only the values that the request needs.
        // The follow-ups have another frame.
        guard let read = await reads.read(watch, leased, polledAt) else { return nil }
        return await follow(read, of: watch, leased, polledAt)
    }

    /// Runs the follow-ups of an answer, and decides.
    private func follow(
        _ read: UpstreamReads<Provider>.Read,
        of watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) async -> Decision<WatchChange>? {
        var outcome = read.outcome
        var context = reads.context(watch, leased, polledAt)
        context.observedCharge = read.observedCharge
        for followUp in followUps {
            outcome = await followUp.act(on: outcome, &context, leased, timeout: reads.timeout)
            if Task.isCancelled {
                // The next poll repeats the action, with the same result. Only a charge is recorded before the process
                // ends: made again, it would have another idempotency key if an order has joined meanwhile.
                guard outcome.hasCharged(context.watch) else { return nil }
                break
            }
            context.now = leased.clock.now
        }
        let traced = tracer.map { TracedPoll($0, watch, at: polledAt) }
        if let traced { context.watch.trace = traced.cause }
        var generator = jitter.generator
        let decision = decider.decide(context, outcome, using: &generator)
        if decision.change.events.contains(where: \.reportsMoney) { onPaid(watch.key.account) }
        traced?.end(context, outcome.result, decision)
        report(context, outcome.result, decision, watch.trace)
        return decision
    }

    private func quarantined(_ leased: LeasedItem<Watch>) -> Decision<WatchChange> {
        let crashes = leased.lease.crashes
        logger.error(
            "quarantined: its workers died",
            metadata: ["source": "\(leased.lease.item.key.source)", "crashes": "\(crashes)"]
        )
        return decider.poisoned(leased.lease.item, crashes: crashes, now: leased.clock.now)
    }
}
