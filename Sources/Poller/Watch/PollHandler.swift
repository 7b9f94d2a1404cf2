package import Logging
import Metrics

/// Handles a claimed watch: asks the upstream once and lets the ``PollDecider`` say what follows.
package struct PollHandler<Truth: Upstream>: ItemHandler {
    /// What a poll leaves of its lease for the commit.
    static var commitMargin: Duration { .seconds(1) }

    private let upstream: Truth
    private let charger: (any Charger)?
    private let timeout: Duration
    private let decider = PollDecider()
    private let metrics = PollMetrics()
    private let logger: Logger

    /// A handler whose polls take at most `timeout`, from the connection to the last byte.
    ///
    /// Without a charger nothing is charged, whatever a watch asks for.
    package init(
        upstream: Truth,
        charger: (any Charger)? = nil,
        timeout: Duration,
        logger: Logger
    ) {
        self.upstream = upstream
        self.charger = charger
        self.timeout = timeout
        self.logger = logger
    }

    package func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        var watch = leased.item
        watch.charge = order(for: watch)
        let polledAt = leased.now
        if leased.lease.crashes >= Lease<Watch>.poisonAt { return quarantined(leased) }
        let patience = min(timeout, leased.remaining - Self.commitMargin)
        guard patience > .zero else { return nil }

        let step = ChargeStep(watch)
        var result = await upstream.poll(target(of: watch, step), timeout: patience)
        if case .observed(let seen) = result { result = .observed(seen.told(at: leased.now)) }
        // A poll that we cut off ourselves is not an answer: it is not recorded, and another
        // worker asks again.
        if Task.isCancelled { return nil }
        let charged = await charge(watch, after: result, step, leased)
        // The same holds for a charge: the idempotency key gives another worker the same answer.
        if Task.isCancelled { return nil }

        let decision = decide(watch, result, step, charged, leased, polledAt: polledAt)
        report(
            watch,
            result,
            decision,
            lag: polledAt - leased.lease.due,
            took: leased.now - polledAt
        )
        return Decision(
            verdict: decision.verdict,
            change: decision.change,
            signal: decision.signal,
            isUrgent: decision.isUrgent,
            // A lane that slows down must know before its next claim.
            isNews: decision.change.event != nil || decision.signal != .fine,
            isForOthers: result.isForOthers
        )
    }

    /// What is to be charged: what the watch says, or its account.
    private func order(for watch: Watch) -> ChargeOrder? {
        guard let charger, watch.key.kind == .source else { return nil }
        let order = watch.charge ?? charger.standingOrder(for: watch.key.account)
        return order.flatMap { $0.isNothing ? nil : $0 }
    }

    /// The watch itself, or its charge in its place.
    private func target(of watch: Watch, _ step: ChargeStep) -> Watch {
        guard case .charge(let id) = step else { return watch }
        return Watch(
            key: WatchKey(account: watch.key.account, source: id, kind: .charge),
            policy: watch.policy,
            createdAt: watch.createdAt,
            deadline: watch.deadline,
            run: watch.run,
            seq: watch.seq
        )
    }

    /// Charges the source if it is time, or looks for the charge that consumed it.
    private func charge(
        _ watch: Watch,
        after result: PollResult,
        _ step: ChargeStep,
        _ leased: LeasedItem<Watch>
    ) async -> (Observation, ChargeResult)? {
        guard let charger, step == .source, case .observed(let seen) = result,
            let object = seen.object,
            let action = ChargeStep.action(watch, seeing: seen)
        else { return nil }
        // A poll that begins a moment before the lease ends could not be recorded.
        let patience = min(timeout, leased.remaining - Self.commitMargin)
        guard patience > .zero else {
            return (seen, .postponed("the lease was about to end", retryAfter: nil))
        }
        let charged =
            switch action {
            case .charge(let order):
                await charger.charge(watch, order, object: object, timeout: patience)
            case .find: await charger.find(watch, object: object, timeout: patience)
            }
        metrics.count(charged)
        // The source was consumed, but by no charge that can be found: the truth is its status.
        if action == .find, case .declined = charged { return nil }
        return (seen, charged)
    }

    private func decide(
        _ watch: Watch,
        _ result: PollResult,
        _ step: ChargeStep,
        _ charged: (seen: Observation, result: ChargeResult)?,
        _ leased: LeasedItem<Watch>,
        polledAt: Timestamp
    ) -> PollDecision {
        var chance = SystemRandomNumberGenerator()
        if let charged {
            return decider.decide(
                watch,
                charged.seen,
                charging: charged.result,
                due: leased.lease.due,
                polledAt: polledAt,
                now: leased.now,
                using: &chance
            )
        }
        if case .charge(let id) = step {
            return decider.decide(
                watch,
                following: id,
                result,
                due: leased.lease.due,
                polledAt: polledAt,
                now: leased.now,
                using: &chance
            )
        }
        return decider.decide(
            watch,
            result,
            due: leased.lease.due,
            polledAt: polledAt,
            now: leased.now,
            using: &chance
        )
    }

    private func quarantined(_ leased: LeasedItem<Watch>) -> Decision<WatchChange> {
        let crashes = leased.lease.crashes
        logger.error(
            "quarantined: its workers died",
            metadata: ["source": "\(leased.item.key.source)", "crashes": "\(crashes)"]
        )
        let decision = decider.poisoned(leased.item, crashes: crashes, now: leased.now)
        return Decision(verdict: decision.verdict, change: decision.change)
    }

    private func report(
        _ watch: Watch,
        _ result: PollResult,
        _ decision: PollDecision,
        lag: Duration,
        took: Duration
    ) {
        metrics.count(result, lag: lag, took: took)
        var metadata: Logger.Metadata = [
            "source": "\(watch.key.source)", "account": "\(watch.key.account)",
            "attempt": "\(watch.state.attempts + 1)", "result": "\(result.name)",
        ]
        if let error = decision.change.lastError { metadata["error"] = "\(error)" }
        if let event = decision.change.event {
            metadata["event.id"] = "\(event.id)"
            metadata["status"] = "\(event.status?.description ?? "unknown")"
            metadata["seq"] = "\(event.seq)"
            logger.info("change observed", metadata: metadata)
        } else if case .unserved = result {
            logger.warning("not polled, nothing here is configured for it", metadata: metadata)
        } else if case .unauthorized = result {
            logger.error("credentials refused by the upstream", metadata: metadata)
        } else {
            logger.debug("polled", metadata: metadata)
        }
    }
}

extension PollResult {
    /// Whether another process may do what this one cannot.
    var isForOthers: Bool {
        if case .unserved = self { true } else { false }
    }

    /// Every ``name`` there is.
    package static let names = [
        "observed", "rate_limited", "lock_timeout", "unavailable", "unauthorized", "unserved",
        "gone",
        "malformed",
    ]

    /// The class of the result, for logs and metrics.
    package var name: String {
        switch self {
        case .observed: "observed"
        case .rateLimited: "rate_limited"
        case .lockTimeout: "lock_timeout"
        case .unavailable: "unavailable"
        case .unauthorized: "unauthorized"
        case .unserved: "unserved"
        case .gone: "gone"
        case .malformed: "malformed"
        }
    }
}

/// What a worker counts, made once: looking a metric up costs more than counting.
struct PollMetrics: Sendable {
    private let polls: [String: Counter]
    private let charges: [String: Counter]
    private let dueLag = Timer(label: "poller_due_lag_seconds")
    private let duration = Timer(label: "poller_poll_duration_seconds")

    init() {
        let pairs = PollResult.names.map { name in
            (name, Counter(label: "poller_polls_total", dimensions: [("result", name)]))
        }
        polls = Dictionary(uniqueKeysWithValues: pairs)
        let outcomes = ChargeResult.names.map { name in
            (name, Counter(label: "poller_charges_total", dimensions: [("result", name)]))
        }
        charges = Dictionary(uniqueKeysWithValues: outcomes)
    }

    /// Counts a try to charge, or to find a charge, by what came of it.
    func count(_ result: ChargeResult) {
        charges[result.name]?.increment()
    }

    /// Counts a poll by the class of its result, how late it was, and how long it took.
    func count(_ result: PollResult, lag: Duration, took: Duration) {
        polls[result.name]?.increment()
        dueLag.recordMilliseconds(max(lag.ms, 0))
        duration.recordMilliseconds(took.ms)
    }
}
