import Logging
package import PollerIdentity
import PollerQueue

/// The spans of one poll of a watch: the look at the upstream, and the change it may have shown.
///
/// Both are named before anybody knows whether there is a change, since its events carry the name; most polls
/// see none, and end neither.
struct TracedPoll: Sendable {
    private let poll: any WorkSpan
    private let change: any WorkSpan

    /// Begins both, at the moment the upstream is asked.
    init(_ tracer: any WorkTracer, _ watch: Watch, at polledAt: Timestamp) {
        poll = tracer.begin(.poll, under: nil, linked: watch.trace, at: polledAt)
        // A change of what nobody has given a trace stands in that of the look.
        change = tracer.begin(
            .change,
            under: watch.trace ?? poll.context,
            linked: watch.trace == nil ? nil : poll.context,
            at: polledAt
        )
    }

    /// The trace that the events of the poll continue.
    var cause: TraceContext { change.context }

    /// Ends what there is something to tell of.
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
        var told = SpanFacts()
        told.add(context.watch.key)
        told.add(event)
        told.add("poller.status", event.status?.description)
        told.add("poller.payment", event.payment?.state.rawValue)
        told.add("poller.events", decision.change.events.count)
        change.end(told, at: context.now)
    }
}

extension SpanFacts {
    /// Adds what names a watch.
    package mutating func add(_ key: WatchKey) {
        add("poller.account", key.account.description)
        add("poller.source", key.source.description)
        add("poller.kind", key.kind.rawValue)
    }

    /// Adds what names an event.
    mutating func add(_ event: Event) {
        add("poller.event.id", event.id.description)
        add("poller.event.type", event.type)
        add("poller.seq", event.seq)
    }
}

extension Logger.Metadata {
    /// Says in a line which trace it is about, by the names that OpenTelemetry gives these in logs.
    mutating func add(_ trace: TraceContext?) {
        guard let trace else { return }
        self["trace_id"] = "\(trace.traceID)"
        self["span_id"] = "\(trace.spanID)"
    }
}
