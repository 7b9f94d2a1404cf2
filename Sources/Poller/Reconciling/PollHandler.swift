package import Logging

/// A worker's hand: asks the upstream once and lets the ``PollDecider`` say what follows.
package struct PollHandler<Truth: Upstream>: Reconciling {
    /// What a poll leaves of its lease for the commit.
    static var commitMargin: Duration { .seconds(1) }

    private let upstream: Truth
    private let timeout: Duration
    private let decider = PollDecider()
    private let metrics = PollMetrics()
    private let logger: Logger

    /// A hand whose polls take at most `timeout`, from the connection to the last byte.
    package init(upstream: Truth, timeout: Duration, logger: Logger) {
        self.upstream = upstream
        self.timeout = timeout
        self.logger = logger
    }

    package func reconcile(_ held: Held<Watch>) async -> Reconciled<WatchChange>? {
        let watch = held.item
        let polledAt = held.now
        if held.lease.crashes >= Lease<Watch>.poisonAt { return quarantined(held) }
        let patience = min(timeout, held.remaining - Self.commitMargin)
        guard patience > .zero else { return nil }

        let result = await upstream.poll(watch, timeout: patience)
        // A poll that was cut off says nothing about the upstream: another worker asks again.
        if Task.isCancelled { return nil }

        var chance = SystemRandomNumberGenerator()
        let decision = decider.decide(
            watch,
            result,
            due: held.lease.due,
            polledAt: polledAt,
            now: held.now,
            using: &chance
        )
        report(watch, result, decision, lag: polledAt - held.lease.due, took: held.now - polledAt)
        return Reconciled(
            verdict: decision.verdict,
            change: decision.change,
            signal: decision.signal,
            isUrgent: decision.isUrgent,
            // A lane that slows down must know before its next claim.
            isNews: decision.change.event != nil || decision.signal != .fine
        )
    }

    private func quarantined(_ held: Held<Watch>) -> Reconciled<WatchChange> {
        let crashes = held.lease.crashes
        logger.error(
            "quarantined: its workers died",
            metadata: ["source": "\(held.item.key.source)", "crashes": "\(crashes)"]
        )
        let decision = decider.poisoned(held.item, crashes: crashes, now: held.now)
        return Reconciled(verdict: decision.verdict, change: decision.change)
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
            logger.info("change recorded", metadata: metadata)
        } else if case .unauthorized = result {
            logger.error("credentials refused by the upstream", metadata: metadata)
        } else {
            logger.debug("polled", metadata: metadata)
        }
    }
}

extension PollResult {
    /// Every ``name`` there is.
    package static let names = [
        "observed", "rate_limited", "lock_timeout", "unavailable", "unauthorized", "gone",
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
        case .gone: "gone"
        case .malformed: "malformed"
        }
    }
}
