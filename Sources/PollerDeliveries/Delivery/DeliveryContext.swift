import Logging
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches

/// Concludes the handling of a delivery: the decision, log messages and metrics.
struct DeliveryContext: Sendable {
    /// The result of handling a delivery.
    struct Conclusion: Sendable {
        let record: Decision<DeliveryChange>
        /// The event that the fallback endpoint must receive before the decision is recorded.
        let escalates: Event?
    }

    private let leased: LeasedItem<Delivery>
    private let state: DeliveryState
    private let pending: PendingEvent
    private let target: DeliveryTarget
    private let decider: DeliveryDecider
    private let metrics: DeliveryMetrics
    private let logger: Logger
    /// The span of the attempt; `nil` before it begins, and without tracing.
    var trace: TraceContext?

    /// Creates a context for an attempt with an event.
    init(
        _ leased: LeasedItem<Delivery>,
        _ pending: PendingEvent,
        _ target: DeliveryTarget,
        _ decider: DeliveryDecider,
        _ metrics: DeliveryMetrics,
        _ logger: Logger
    ) {
        self.leased = leased
        state = leased.item.state
        self.pending = pending
        self.target = target
        self.decider = decider
        self.metrics = metrics
        self.logger = logger
    }

    /// The target with the trace context for the recipient.
    var traced: DeliveryTarget {
        var target = target
        target.trace = trace
        return target
    }

    private var event: Event { pending.event }

    /// Records the result of an attempt.
    func conclude(_ result: AttemptResult, began: Timestamp) -> Conclusion {
        var generator = SystemRandomNumberGenerator()
        let decision = decider.decide(
            state,
            event,
            result,
            outage: leased.lease.outage,
            more: pending.more,
            now: leased.now,
            generator: &generator
        )
        let error = result.outcome == .delivered ? nil : result.reason
        report(decision, result.kind, error)
        let attempt = AttemptRecord(
            at: began,
            event: event,
            number: state.failures + 1,
            result: result
        )
        return conclusion(decision, error, attempt)
    }

    /// Dead-letters an event without an attempt when the span of its schedule passed while its endpoint was
    /// unavailable; `nil` otherwise.
    ///
    /// Only for inline URLs: a registered endpoint is disabled after days, and keeps its events.
    func deadLetterIfExpired() -> Conclusion? {
        guard target.endpoint == nil else { return nil }
        let decision = decider.deadLetterIfExpired(
            state,
            event,
            outage: leased.lease.outage,
            more: pending.more,
            now: leased.now
        )
        guard let decision else { return nil }
        let error = "not sent: the endpoint did not respond within its whole retry schedule"
        report(decision, .timeout, error)
        return conclusion(decision, error, nil)
    }

    /// Postpones the attempt: the slow recipients of its account hold all slots that they may.
    func postpone(for wait: Duration) -> Conclusion {
        let decision = decider.postpone(
            state,
            event,
            for: wait,
            outage: leased.lease.outage,
            now: leased.now
        )
        let why = "postponed briefly: too many recipients of its account respond slowly"
        return conclusion(decision, why, nil)
    }

    private func conclusion(
        _ decision: DeliveryDecision,
        _ error: String?,
        _ attempt: AttemptRecord?
    ) -> Conclusion {
        Conclusion(
            record: Decision(
                verdict: decision.verdict,
                change: DeliveryChange(state: decision.state, lastError: error, attempt: attempt),
                signal: decision.signal
            ),
            escalates: decision.escalates ? event : nil
        )
    }

    private func report(_ decision: DeliveryDecision, _ kind: AttemptClass, _ error: String?) {
        let lag = leased.now - event.polledAt
        // The metadata is built only if the level is logged.
        let metadata = { self.metadata(decision, kind, error) }
        switch decision.outcome {
        case .delivered:
            logger.info(
                "delivered",
                metadata: metadata().merging(["lag.ms": "\(lag.ms)"]) { $1 }
            )
            metrics.delivered(after: lag)
        case .skipped: logger.info("not sent: skipped for this recipient", metadata: metadata())
        case .failed where leased.lease.outage?.isProbed == true:
            logger.debug("the endpoint still does not respond", metadata: metadata())
        case .failed where kind == .poison:
            logger.error("delivery postponed: its notifiers died", metadata: metadata())
        case .failed:
            logger.warning("delivery failed; retrying", metadata: metadata())
        case .deadLettered:
            logger.error("delivery dead-lettered: no attempts left", metadata: metadata())
        case .rejected:
            logger.error("delivery dead-lettered: the recipient refused it", metadata: metadata())
        }
        metrics.count(decision.outcome, scheme: target.url.scheme)
    }

    private func metadata(
        _ decision: DeliveryDecision,
        _ kind: AttemptClass,
        _ error: String?
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "event.id": "\(event.id)", "source": "\(event.key.source)", "seq": "\(event.seq)",
            "endpoint": "\(leased.item.endpoint)", "host": "\(target.url.host)",
            "attempt": "\(state.failures + 1)", "class": "\(kind.rawValue)",
        ]
        if let name = target.endpoint?.name { metadata["endpoint.name"] = "\(name)" }
        if let error { metadata["error"] = "\(error)" }
        metadata.add(trace ?? event.trace)
        if let wait = decision.wait { metadata["retry.ms"] = "\(wait.ms)" }
        return metadata
    }
}

extension DeliveryContext {
    /// Returns the span attributes of an attempt.
    func facts(of result: AttemptResult) -> SpanFacts {
        var facts = SpanFacts()
        facts.add(event.key)
        facts.add(event)
        facts.add("poller.endpoint", leased.item.endpoint.description)
        facts.add("poller.attempt", state.failures + 1)
        facts.add("poller.outcome", result.outcome.rawValue)
        facts.add("server.address", String(target.url.host))
        facts.add("url.scheme", target.url.scheme)
        if ["http", "https"].contains(target.url.scheme) {
            facts.add("http.request.method", "POST")
            facts.add("http.response.status_code", result.code)
            if state.failures > 0 { facts.add("http.request.resend_count", state.failures) }
        }
        if result.outcome == .failed || result.outcome == .rejected {
            facts.fail(result.kind.rawValue, result.reason)
        }
        return facts
    }
}

/// The next event of a delivery, and the events that it replaces.
struct PendingEvent: Hashable, Sendable {
    /// Whether more events may be pending after it.
    let more: Bool
    private let boxedEvent: Box<Event>

    /// Creates a value for a requested event.
    init(_ event: Event, more: Bool) {
        boxedEvent = Box(event)
        self.more = more
    }

    /// The event, with the numbers of the events that it replaces.
    var event: Event { boxedEvent.value }

    /// Chooses from the log after the cursor.
    ///
    /// Only events that may be sent are decoded.
    init?(in log: [LoggedEvent], isWhole: Bool, coalesces: Bool, wants: (Event) -> Bool) {
        var events: [Event] = []
        for logged in log {
            guard let event = logged.event, wants(event) else { continue }
            events.append(event)
            if !coalesces { break }
        }
        self.init(
            in: events,
            newest: log.last?.seq,
            isWhole: isWhole,
            coalesces: coalesces,
            wants: { _ in true }
        )
    }

    /// Chooses from the events after the cursor; `nil` when the endpoint subscribes to none of them.
    ///
    /// - Parameters:
    ///   - events: the events in the order of the log.
    ///   - newest: the number of the last event in the log; `nil` for that of `events`.
    ///   - isWhole: whether the log has no more after them.
    ///   - coalesces: whether only the newest is sent. An event that announces a debit, which must be
    ///     delivered in time, or that ends a run is never skipped. For an incident the beginning is
    ///     never skipped either.
    ///   - wants: whether the endpoint receives an event at all.
    init?(
        in events: [Event],
        newest: Int? = nil,
        isWhole: Bool,
        coalesces: Bool,
        wants: (Event) -> Bool
    ) {
        let wanted = events.filter(wants)
        guard let oldest = wanted.first else { return nil }
        var chosen = oldest
        if coalesces, !oldest.isForOperators, let newest = wanted.last {
            chosen = wanted.first { $0.closed != nil || $0.mandate != nil } ?? newest
        }
        var event = chosen
        event.skippedSeqs = wanted.map(\.seq).filter { $0 < chosen.seq }
        boxedEvent = Box(event)
        more = !isWhole || (newest ?? events.last?.seq ?? 0) > chosen.seq
    }
}
