import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerWatches

/// The spans of one poll: the read from the upstream, and the change that it may find.
///
/// Both begin before the result is known, because the events contain their IDs. Most polls succeed without a change and
/// end neither span.
struct TracedPoll: Sendable {
    private let poll: any WorkSpan
    private let change: any WorkSpan

    /// Begins both spans when the request is sent.
    init(_ tracer: any WorkTracer, _ watch: Watch, at polledAt: Timestamp) {
        poll = tracer.begin(.poll, under: nil, linked: watch.trace, at: polledAt)
        // Without a caller's trace, the change is in the trace of the poll.
        change = tracer.begin(
            .change,
            under: watch.trace ?? poll.context,
            linked: watch.trace == nil ? nil : poll.context,
            at: polledAt
        )
    }

    /// The trace that the events of the poll continue.
    var cause: TraceContext { change.context }

    /// Ends the spans of a failed poll or a change.
    ///
    /// Other polls record no spans.
    func end(_ context: PollContext, _ result: PollResult, _ decision: Decision<WatchChange>) {
        let error = decision.change.lastError
        guard error != nil || decision.change.event != nil else { return }
        var facts = SpanFacts()
        facts.add(context.watch.key)
        facts.add("poller.result", result.name)
        facts.add("poller.attempt", context.watch.state.attempts + 1)
        facts.add("poller.due_lag_ms", Int(clamping: context.lag.ms))
        if let error { facts.fail(result.name, error) }
        poll.end(facts, at: context.now)
        guard let event = decision.change.event else { return }
        var changeFacts = SpanFacts()
        changeFacts.add(context.watch.key)
        changeFacts.add(event)
        changeFacts.add("poller.status", event.status?.description)
        changeFacts.add("poller.payment", event.payment?.state.rawValue)
        changeFacts.add("poller.events", decision.change.events.count)
        change.end(changeFacts, at: context.now)
    }
}
