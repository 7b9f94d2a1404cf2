import Logging
import Metrics
import PollerIdentity
import PollerQueue

/// Ends one turn of a delivery: what to record, to log and to count.
struct DeliveryTurn: Sendable {
    /// What a turn has come to.
    struct Conclusion: Sendable {
        let record: Decision<DeliveryChange>
        /// Of what the fallback endpoint is to be told before that is recorded.
        let escalates: Event?
    }

    private let leased: LeasedItem<Delivery>
    private let pending: PendingEvent
    private let target: DeliveryTarget
    private let decider: DeliveryDecider
    private let logger: Logger
    /// The place of the attempt in a trace; nil before there is one, and where nobody traces.
    var trace: TraceContext?

    /// A turn that tries an event.
    init(
        _ leased: LeasedItem<Delivery>,
        _ pending: PendingEvent,
        _ target: DeliveryTarget,
        _ decider: DeliveryDecider,
        _ logger: Logger
    ) {
        self.leased = leased
        self.pending = pending
        self.target = target
        self.decider = decider
        self.logger = logger
    }

    /// The receiver, with what it is told of the trace.
    var traced: DeliveryTarget {
        var target = target
        target.trace = trace
        return target
    }

    private var event: Event { pending.event }
    private var state: DeliveryState { leased.item.state }

    /// Records what came of an attempt.
    func conclude(_ result: AttemptResult, began: Timestamp) -> Conclusion {
        var chance = SystemRandomNumberGenerator()
        let decision = decider.decide(
            state,
            event,
            result,
            trouble: leased.lease.trouble,
            more: pending.more,
            now: leased.now,
            chance: &chance
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

    /// Gives an event up without a try when it has outlived its schedule while its endpoint was
    /// down; nil while it has not.
    ///
    /// Of inline URLs alone: a registered endpoint is disabled after days, and loses nothing then.
    func outlived() -> Conclusion? {
        guard target.endpoint == nil else { return nil }
        let decision = decider.outlived(
            state,
            event,
            trouble: leased.lease.trouble,
            more: pending.more,
            now: leased.now
        )
        guard let decision else { return nil }
        let error = "not sent: its endpoint did not answer for as long as its schedule goes on"
        report(decision, .timeout, error)
        return conclusion(decision, error, nil)
    }

    /// Tries it later: the receivers of its account hold as many places as they may.
    func putOff(for wait: Duration) -> Conclusion {
        let decision = decider.putOff(
            state,
            event,
            for: wait,
            trouble: leased.lease.trouble,
            now: leased.now
        )
        let why = "put off for a moment: too many receivers of its account are slow to answer"
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
        // Its texts are made only for a level that is on.
        let metadata = { self.metadata(decision, kind, error) }
        switch decision.fate {
        case .delivered:
            logger.info(
                "delivered",
                metadata: metadata().merging(["lag.ms": "\(lag.ms)"]) { $1 }
            )
            Timer(label: "poller_delivery_lag_seconds").recordMilliseconds(max(lag.ms, 0))
        case .skipped: logger.info("not sent: the recipient wants no mail", metadata: metadata())
        case .failed where leased.lease.trouble?.isProbed == true:
            logger.debug("the endpoint still does not answer", metadata: metadata())
        case .failed where kind == .poison:
            logger.error("delivery put off: its notifiers died", metadata: metadata())
        case .failed:
            logger.warning("delivery failed, will be tried again", metadata: metadata())
        case .givenUp: logger.error("delivery given up: no attempt is left", metadata: metadata())
        case .rejected:
            logger.error("delivery given up: the receiver refused it", metadata: metadata())
        }
        Counter(
            label: "poller_deliveries_total",
            dimensions: [("scheme", target.url.scheme), ("result", decision.fate.rawValue)]
        ).increment()
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

extension DeliveryTurn {
    /// What a trace tells of an attempt.
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

/// The event that a delivery tries next, and what it passes over for it.
struct PendingEvent: Hashable, Sendable {
    /// With the numbers of those that gave way to it.
    let event: Event
    /// Something may be left to tell after it.
    let more: Bool

    /// An event that somebody has asked for.
    init(_ event: Event, more: Bool) {
        self.event = event
        self.more = more
    }

    /// Chooses from the events after the cursor; nil when none of them is wanted.
    ///
    /// - Parameters:
    ///   - events: in the order of the log.
    ///   - isWhole: whether the log has no more after them.
    ///   - coalesces: only the newest is wanted, but never past one that announces a debit, which must
    ///     be told in time, or that ends a run: an end is
    ///     always told. Of an incident its beginning is told too.
    ///   - wants: whether the endpoint is told of an event at all.
    init?(in events: [Event], isWhole: Bool, coalesces: Bool, wants: (Event) -> Bool) {
        let wanted = events.filter(wants)
        guard let oldest = wanted.first else { return nil }
        var chosen = oldest
        if coalesces, !oldest.isForOperators, let newest = wanted.last {
            chosen = wanted.first { $0.closed != nil || $0.mandate != nil } ?? newest
        }
        var event = chosen
        event.skippedSeqs = wanted.map(\.seq).filter { $0 < chosen.seq }
        self.event = event
        more = !isWhole || (events.last?.seq ?? 0) > chosen.seq
    }
}
