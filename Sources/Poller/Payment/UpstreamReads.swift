import PollerIdentity
import PollerQueue

/// The requests by which one poll reads from the upstream.
///
/// ```
/// only the charge is open, or its money is reviewed  ─▶ the charge alone (``ChargeStep``)
/// a hint of the money of a known charge              ─▶ the charge first, then the source
/// the source has changed, and its charge is known    ─▶ the source, then the charge
/// else                                               ─▶ the source alone
/// ```
///
/// An event about a source carries the state of its money, and the source itself says nothing of its
/// charge. So where both are read, a charge that has changed is reported alone, and the source has the next
/// poll; else the source is reported, with the charge as it was read a moment ago.
struct UpstreamReads<Provider: Upstream>: Sendable {
    let upstream: Provider
    let payments: (any PaymentReader)?
    let decider: PollDecider
    let timeout: Duration

    /// What the upstream answered.
    struct Read: Sendable {
        let outcome: PollOutcome
        /// The charge that was read beside the source; `nil` when it was not read, or may not be seen.
        var chargeSeen: Observation?
    }

    /// Reads the source, its charge, or one after the other; `nil` when the poll was cancelled or its lease is about to
    /// end.
    ///
    /// Most sources have no charge: this frame does not hold what two answers need while it waits for one.
    func read(_ watch: Watch, _ leased: LeasedItem<Watch>, _ polledAt: Timestamp) async -> Read? {
        switch ChargeStep(watch) {
        case .charge(let charge):
            guard let result = await ask(charge, of: watch, leased) else { return nil }
            return Read(outcome: .chargeAnswer(charge, result))
        case .source:
            if let charge = watch.state.charge.charge {
                return await read(watch, and: charge, leased, polledAt)
            }
            guard let result = await ask(watch, leased) else { return nil }
            return Read(outcome: .answer(result))
        }
    }

    /// Reads a source whose charge is known.
    private func read(
        _ watch: Watch,
        and charge: ChargeID,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) async -> Read? {
        var seen: Observation?
        if watch.news == .money {
            guard let result = await ask(charge, of: watch, leased, share: 2) else { return nil }
            if isReported(result, of: charge, watch, leased, polledAt) {
                return Read(outcome: .chargeAnswer(charge, result))
            }
            seen = result.observation
        }
        guard let result = await ask(watch, leased) else { return nil }
        if watch.news != .money, ChargeStep.isOld(watch, at: polledAt),
            let source = result.observation,
            decider.isReported(source, context(watch, leased, polledAt))
        {
            guard let result = await ask(charge, of: watch, leased) else { return nil }
            if isReported(result, of: charge, watch, leased, polledAt) {
                return Read(outcome: .chargeAnswer(charge, result))
            }
            seen = result.observation
        }
        return Read(outcome: .answer(result), chargeSeen: seen)
    }

    /// The context of a poll, as of now.
    func context(
        _ watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) -> PollContext {
        PollContext(
            watch,
            due: leased.lease.due,
            polledAt: polledAt,
            now: leased.now,
            isLaneDown: leased.lease.trouble?.isProbed ?? false,
            payments: payments
        )
    }

    /// Asks about a charge, with a `share`-th of the time.
    private func ask(
        _ charge: ChargeID,
        of watch: Watch,
        _ leased: LeasedItem<Watch>,
        share: Int = 1
    ) async -> PollResult? {
        let target = Watch(
            key: WatchKey(account: watch.key.account, source: charge, kind: .charge),
            policy: watch.policy,
            createdAt: watch.createdAt,
            deadline: watch.deadline,
            run: watch.run,
            seq: watch.seq,
            reopenedSeq: watch.reopenedSeq,
            endedAs: watch.endedAs,
            news: watch.news
        )
        return await ask(target, leased, share: share)
    }

    /// Asks the upstream; `nil` when the poll was cancelled, or has no time left.
    ///
    /// An answer that we cut off ourselves is none: it is not recorded, and another worker asks again.
    private func ask(
        _ target: Watch,
        _ leased: LeasedItem<Watch>,
        share: Int = 1
    ) async -> PollResult? {
        guard let limit = leased.limit(timeout) else { return nil }
        let result = await upstream.poll(target, timeout: limit / share)
        if Task.isCancelled { return nil }
        guard case .observed(let seen) = result else { return result }
        return .observed(seen.told(at: leased.now))
    }

    /// Whether the poll ends with an answer about the charge, because it changes something or another try may.
    ///
    /// An answer that this process may not see, or that cannot be read, keeps nothing back.
    private func isReported(
        _ result: PollResult,
        of charge: ChargeID,
        _ watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) -> Bool {
        switch result {
        case .observed(let seen):
            context(watch, leased, polledAt).isReported(seen, of: charge)
        case .unavailable, .rateLimited, .objectLimited, .lockTimeout: true
        case .unauthorized, .revoked, .unserved, .unaskable, .gone, .malformed: false
        }
    }
}
