/// What a turn has asked the upstream about, and what was answered.
///
/// ```
/// only the charge is open, or its money is reviewed  ─▶ the charge alone (``ChargeStep``)
/// news of the money of a known charge                ─▶ the charge first, then the source
/// the source has news, and its charge is known       ─▶ the source, then the charge
/// else                                               ─▶ the source alone
/// ```
///
/// What is told of a source says what is true of its money, and the source itself says nothing of its
/// charge. So where both are asked about, a charge that has news is told alone, and the source has the next
/// look; else the source is told, with the charge as it was seen a moment ago.
struct Looked: Sendable {
    /// What `result` is an answer about.
    let step: ChargeStep
    /// The charge as it was seen beside the source; nil when it was not asked about, or nobody may see it.
    var charge: Observation?
    let result: PollResult
}

extension PollHandler {
    /// Asks about the source, its charge, or one after the other; nil when it was cut off.
    ///
    /// By far the most have no charge: what two answers need is not held while they wait for one.
    func look(
        _ watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp,
        _ limit: Duration
    ) async -> Looked? {
        let step = ChargeStep(watch)
        if step == .source, let known = watch.state.charge.charge {
            return await look(watch, and: known, leased, polledAt, limit)
        }
        let result = await ask(step, of: watch, limit, leased)
        // A poll that we cut off ourselves is not an answer: it is not recorded, and another
        // worker asks again.
        return Task.isCancelled ? nil : Looked(step: step, result: result)
    }

    /// Asks about a source whose charge is known.
    private func look(
        _ watch: Watch,
        and known: ChargeID,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp,
        _ limit: Duration
    ) async -> Looked? {
        var charge: Observation?
        if watch.news == .money {
            let seen = await ask(.charge(known), of: watch, limit / 2, leased)
            if Task.isCancelled { return nil }
            guard isSilent(seen, of: known, watch, leased, polledAt) else {
                return Looked(step: .charge(known), result: seen)
            }
            if case .observed(let observation) = seen { charge = observation }
        }
        let left = min(limit, leased.remaining - Self.commitMargin)
        guard left > .zero else { return nil }
        let result = await ask(.source, of: watch, left, leased)
        if Task.isCancelled { return nil }
        let isOld = watch.news != .money && ChargeStep.isOld(watch, at: polledAt)
        if isOld, tells(result, of: watch, leased, polledAt) {
            let left = min(timeout, leased.remaining - Self.commitMargin)
            guard left > .zero else { return nil }
            let seen = await ask(.charge(known), of: watch, left, leased)
            if Task.isCancelled { return nil }
            guard isSilent(seen, of: known, watch, leased, polledAt) else {
                return Looked(step: .charge(known), result: seen)
            }
            if case .observed(let observation) = seen { charge = observation }
        }
        return Looked(step: .source, charge: charge, result: result)
    }

    func pollContext(
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

    private func ask(
        _ step: ChargeStep,
        of watch: Watch,
        _ limit: Duration,
        _ leased: LeasedItem<Watch>
    ) async -> PollResult {
        let result = await upstream.poll(target(of: watch, step), timeout: limit)
        guard case .observed(let seen) = result else { return result }
        return .observed(seen.told(at: leased.now))
    }

    /// Whether an answer about a charge keeps nothing back: it has no news, or nobody here may see it.
    private func isSilent(
        _ result: PollResult,
        of charge: ChargeID,
        _ watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) -> Bool {
        switch result {
        case .observed:
            let context = pollContext(watch, leased, polledAt)
            var chance = SystemRandomNumberGenerator()
            let decision = decider.decide(context, following: charge, result, using: &chance)
            return decision.change.events.isEmpty
        case .unavailable, .rateLimited, .objectLimited, .lockTimeout: return false
        case .unauthorized, .revoked, .unserved, .unaskable, .gone, .malformed: return true
        }
    }

    /// Whether an answer about a source has something to tell.
    private func tells(
        _ result: PollResult,
        of watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) -> Bool {
        guard case .observed = result else { return false }
        let context = pollContext(watch, leased, polledAt)
        var chance = SystemRandomNumberGenerator()
        return !decider.decide(context, result, using: &chance).change.events.isEmpty
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
            seq: watch.seq,
            reopenedSeq: watch.reopenedSeq,
            endedAs: watch.endedAs,
            news: watch.news
        )
    }
}
