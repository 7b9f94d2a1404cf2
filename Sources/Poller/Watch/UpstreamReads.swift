import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches

/// The upstream requests of one poll.
///
/// ```
/// only the charge is open, or its money is reviewed  ─▶ the charge alone (``ChargeStep``)
/// a hint about the money of a known charge           ─▶ the charge first, then the source
/// the source has changed, and its charge is known    ─▶ the source, then the charge
/// else                                               ─▶ the source alone
/// ```
///
/// An event about a source includes the state of its money, but the upstream's source does not include its charge. If
/// both were read and the charge has changed, the poll ends with the charge, and the next poll reads the source.
/// Otherwise the poll ends with the source, together with the charge that was read.
struct UpstreamReads<Provider: Upstream>: Sendable {
    let upstream: Provider
    let payments: (any PaymentReader)?
    let decider: PollDecider
    let timeout: Duration

    /// The result of the requests.
    struct Read: Sendable {
        let outcome: PollOutcome
        /// The charge that was read with the source; `nil` if it was not read, or the key may not read it.
        var observedCharge: Observation?
    }

    /// Reads the source, its charge, or both in turn; `nil` when the poll was cancelled or its lease is about to end.
    ///
    /// Most sources have no charge. The case of two requests is a function of its own, because the state for two
    /// answers would take memory in every poll that waits.
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
        if watch.pendingHint == .money {
            guard let result = await ask(charge, of: watch, leased, share: 2) else { return nil }
            if isLast(result, of: charge, watch, leased, polledAt) {
                return Read(outcome: .chargeAnswer(charge, result))
            }
            seen = result.observation
        }
        guard let result = await ask(watch, leased) else { return nil }
        if watch.pendingHint != .money, ChargeStep.isOld(watch, at: polledAt),
            let source = result.observation,
            decider.causesEvent(source, context(watch, leased, polledAt))
        {
            guard let result = await ask(charge, of: watch, leased) else { return nil }
            if isLast(result, of: charge, watch, leased, polledAt) {
                return Read(outcome: .chargeAnswer(charge, result))
            }
            seen = result.observation
        }
        return Read(outcome: .answer(result), observedCharge: seen)
    }

    /// Returns the context of a poll at the current time.
    func context(
        _ watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) -> PollContext {
        PollContext(
            watch,
            due: leased.lease.due,
            polledAt: polledAt,
            now: leased.clock.now,
            isLaneDown: leased.lease.outage?.isProbed ?? false,
            payments: payments
        )
    }

    /// Reads a charge.
    ///
    /// `share` divides the time limit of this request. A later request of the poll has its own limit.
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
            pendingHint: watch.pendingHint
        )
        return await ask(target, leased, share: share)
    }

    /// Reads from the upstream; `nil` when the poll was cancelled, or has no time left.
    ///
    /// An answer that the cancellation truncated is not recorded, and another worker polls again.
    private func ask(
        _ target: Watch,
        _ leased: LeasedItem<Watch>,
        share: Int = 1
    ) async -> PollResult? {
        guard let limit = leased.limit(timeout) else { return nil }
        let result = await upstream.poll(target, timeout: limit / share)
        if Task.isCancelled { return nil }
        guard case .observed(let seen) = result else { return result }
        return .observed(seen.converted(at: leased.clock.now))
    }

    /// Whether the poll ends with an answer about the charge: the charge has changed, or must be read again.
    ///
    /// If the key may not read the charge, or its answer cannot be read, the poll ends with the source.
    private func isLast(
        _ result: PollResult,
        of charge: ChargeID,
        _ watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) -> Bool {
        switch result {
        case .observed(let seen):
            context(watch, leased, polledAt).causesEvent(seen, of: charge)
        case .unavailable, .rateLimited, .objectLimited, .lockTimeout: true
        case .unauthorized, .revoked, .unserved, .unaskable, .gone, .malformed: false
        }
    }
}
