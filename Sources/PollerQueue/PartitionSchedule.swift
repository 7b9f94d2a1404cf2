import PollerIdentity

/// When each partition is worth an exchange with the store; ``InFlight`` alone asks it.
///
/// *Problem.* Most of what a poll costs at a modest pace is that a lonely command wakes Redis and us. So
/// exchanges are to leave together and seldom, and nothing that somebody waits for may be later for it.
///
/// *Approach.* Four things make a partition worth an exchange: results that have waited long enough,
/// its own next ready time as the last claim told it, a wake, and the insurance interval that bounds
/// what a lost wake can cost. What is urgent of it goes at once and alone: news, a wake, results that
/// free what others wait for. The rest has a last instant, and the first partition that has come to it
/// takes along all that would follow within ``tickSpan``: a *tick*. Claims look so far ahead that what
/// is due until the next tick is in hand before.
///
/// ```
///        claimed ahead: ├──────────── 250 ms ────────────┤
/// tick ────────────────┴────────── 230 ms ────────┴─ 20 ─┘
///        all partitions                         all partitions
/// ```
///
/// A partition has one exchange at a time: results gather behind it, and it brings the newest ready
/// time, so a second one beside it could only find less.
///
/// It knows times and no counts. Whether there is room for a claim is the caller's to say, so that
/// what is in hand is counted in one place.
///
/// *Rejected*: ticks of a fixed clock (a result would wait for half of one in vain, and a quiet worker
/// would wake for nothing); news that takes the others along (one change in ten polls, and nothing
/// would gather any more).
struct PartitionSchedule<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// How long before something is ready its claim goes out at the latest: what a round trip and a
    /// busy machine may take.
    static var lead: Duration { .milliseconds(20) }
    /// The longest a partition goes without a claim of its owner and helpers: the "+ 1 s" of the polling
    /// guarantee.
    static var insurance: Duration { .seconds(1) }
    /// The pause after a claim that found nothing although the partition said it was ready: its
    /// lane is closing under somebody else's claim.
    static var emptyPause: Duration { .milliseconds(5) }
    /// How much later than its owner others claim from a partition: they find something only
    /// when the owner is late.
    static var stealPause: Duration { .milliseconds(50) }
    /// The longest that somebody who only looks in does not: as long as a dead owner's share takes to be
    /// another's, which the polling guarantee has room for where a lease is as long (``Heartbeat``).
    static var lookInSpan: Duration { .seconds(8) }
    /// How much later we claim where we have met what only others can do: later than any of them.
    static var leftPause: Duration { .milliseconds(100) }
    /// How long that holds: a process that is configured anew is another process.
    static var leftSpan: Duration { .seconds(60) }

    /// What the next claim of a partition is for.
    enum Occasion: Sendable {
        /// Something is due now, as far as we know.
        case due
        /// Something will be ready, and nobody goes before us.
        case ahead
        /// Something is or will be ready, and others go first.
        case helping
        /// Nothing but the insurance.
        case insurance

        /// Whether it goes with others, and takes them along.
        var isRoutine: Bool {
            switch self {
            case .ahead, .insurance: true
            case .due, .helping: false
            }
        }
    }

    /// A partition that is worth an exchange now.
    struct Turn: Sendable {
        let partition: Int
        let occasion: Occasion
        /// Nothing but the insurance would make its claim.
        let isInsurance: Bool
        /// Claims before were not answered, so that they may have taken what nobody knows of.
        let hasLostClaims: Bool
        /// When the last claim that was answered was made, by the store's clock.
        let answeredAt: Timestamp?

        /// The claims before this one that were not answered.
        func lost(before request: ClaimRequest) -> LostClaims? {
            hasLostClaims ? LostClaims(before: request, since: answeredAt) : nil
        }
    }

    /// How long what nobody waits for may wait for company.
    let tickSpan: Duration
    private let ahead: Duration
    private let lead: Duration
    /// The longest that we go without a claim where others stand nearer.
    private let lookIn: Duration
    private var partitions: [Partition]
    /// Where the next search for partitions starts, so that all get their turn.
    private var turn = 0

    /// All partitions are due now and ours.
    ///
    /// Claims go out before something is ready: by all that they look `ahead` when others go, by
    /// ``lead`` at the latest. With a `lease` so short that the polling guarantee has no room for it nobody
    /// only looks in.
    init(partitions: Int, ahead: Duration, lease: Duration, now: Instant) {
        self.partitions = Array(
            repeating: Partition(claimBy: now, claimFrom: now),
            count: partitions
        )
        self.ahead = ahead
        lead = min(Self.lead, ahead / 2)
        tickSpan = ahead - lead
        lookIn = lease < Self.lookInSpan ? Self.insurance : Self.lookInSpan
    }

    /// Whether something is due that nobody has claimed.
    var isPressing: Bool {
        partitions.contains { if case .due = $0.occasion { true } else { false } }
    }

    /// The partitions that are worth an exchange now.
    ///
    /// Their exchanges begin with this, and take all results along. Say `claiming` for those that claim,
    /// and end each with `claimed`, `sent` or `failed`; meanwhile nobody is told this partition again.
    mutating func next(now: Instant, canClaim: Bool) -> [Turn] {
        let isTick = partitions.contains { $0.opensTick(now, canClaim: canClaim) }
        var turns: [Turn] = []
        let first = turn
        for offset in partitions.indices {
            let index = (first + offset) % partitions.count
            let partition = partitions[index]
            guard partition.goes(now, canClaim: canClaim, isTick: isTick) else { continue }
            if turns.isEmpty { turn = (index + 1) % partitions.count }
            var isInsurance = false
            if case .insurance = partition.occasion, partition.rank <= PartitionShare.helpers {
                isInsurance = partition.claimFrom <= now
            }
            turns.append(
                Turn(
                    partition: index,
                    occasion: partition.occasion,
                    isInsurance: isInsurance,
                    hasLostClaims: partition.hasLostClaims,
                    answeredAt: partition.answeredAt
                )
            )
            partitions[index].state = .sending
            partitions[index].sendBy = nil
            partitions[index].tickBy = nil
        }
        return turns
    }

    /// An exchange that begins asks for items.
    mutating func claiming(_ index: Int) {
        partitions[index].state = .claiming(isWoken: false)
    }

    /// An exchange that asked for nothing has been answered.
    mutating func sent(_ index: Int) {
        partitions[index].state = .idle
    }

    /// A claim took items and heard when the partition is ready again; nil when the store refused what
    /// was sent, or what it answered is not understood: what that may hold comes back when its lease ends,
    /// in smaller batches each time.
    mutating func claimed<Item: Sendable>(_ index: Int, _ claim: Claim<Item>?, now: Instant) {
        let taken = claim?.leases.count ?? 0
        let nextReady = claim.flatMap { claim in claim.nextReady.map { max($0 - claim.now, .zero) }
        }
        if let claim {
            partitions[index].hasLostClaims = false
            // The store's clock may go back a little: what was claimed before is in hand for longer then.
            let answeredAt = partitions[index].answeredAt ?? claim.now
            partitions[index].answeredAt = max(answeredAt, claim.now)
        }
        let state = partitions[index].state
        partitions[index].state = .idle
        if case .claiming(isWoken: true) = state {
            return partitions[index].plan(.due, from: now, by: now)
        }
        let late = pause(partitions[index], now: now)
        let pause = taken == 0 ? Self.emptyPause : .zero
        let insurance = partitions[index].insurance(lookIn: lookIn)
        let wait = nextReady.map { max($0 + (late ?? .zero - lead), pause) } ?? insurance
        // Where others stand nearer and there was nothing to do, they are to do what comes.
        let leavesIt = taken == 0 && partitions[index].rank > PartitionShare.helpers
        guard let nextReady, wait < insurance, !leavesIt else {
            let by = now.advanced(by: insurance)
            let from = now.advanced(by: max(insurance - tickSpan, .zero))
            return partitions[index].plan(.insurance, from: from, by: by)
        }
        let by = now.advanced(by: wait)
        if late != nil || (taken == 0 && wait == pause) {
            partitions[index].plan(.helping, from: by, by: by)
        } else if nextReady <= lead {
            // Its limit has cut the claim: there is more than one can bring.
            partitions[index].plan(.due, from: by, by: by)
        } else {
            let from = now.advanced(by: max(nextReady - ahead, pause))
            partitions[index].plan(.ahead, from: from, by: by)
        }
    }

    /// An exchange failed: try again after a pause, also with the results that it has put back.
    mutating func failed(_ index: Int, hasResults: Bool, pause: Duration, now: Instant) {
        let again = now.advanced(by: pause)
        if case .claiming = partitions[index].state { partitions[index].hasLostClaims = true }
        partitions[index].state = .idle
        partitions[index].plan(.due, from: again, by: again)
        if hasResults { send(index, by: again, isWaitedFor: true) }
    }

    /// A result waits for an exchange, which must begin by then; or earlier, for another result.
    ///
    /// False while an exchange is under way: the next one begins when that has been answered.
    @discardableResult
    mutating func send(_ index: Int, by instant: Instant, isWaitedFor: Bool) -> Bool {
        let former = isWaitedFor ? partitions[index].sendBy : partitions[index].tickBy
        let earliest = former.map { min($0, instant) } ?? instant
        if isWaitedFor {
            partitions[index].sendBy = earliest
        } else {
            partitions[index].tickBy = earliest
        }
        return partitions[index].isIdle
    }

    /// Something in the partition (nil: in any) became due earlier than the last claim told.
    mutating func wake(partition: Int?, now: Instant) {
        guard let partition else {
            for index in partitions.indices { wake(partition: index, now: now) }
            return
        }
        guard partitions.indices.contains(partition), !partitions[partition].onlyLooksIn else {
            return
        }
        let late = pause(partitions[partition], now: now)
        let by = min(partitions[partition].claimBy, now.advanced(by: late ?? .zero))
        partitions[partition].plan(late == nil ? .due : .helping, from: by, by: by)
        if case .claiming = partitions[partition].state {
            partitions[partition].state = .claiming(isWoken: late == nil)
        }
    }

    /// An item that somebody holds was marked: if we do, its result must go at once.
    mutating func marked(partition: Int?, now: Instant) {
        guard let partition else {
            for index in partitions.indices { marked(partition: index, now: now) }
            return
        }
        guard partitions.indices.contains(partition) else { return }
        partitions[partition].markedAt = now
        hurry(partition, by: now)
    }

    /// Whether something in the partition was marked since then: perhaps what was claimed at that time,
    /// which is due again as soon as its result is recorded.
    func isMarked(_ index: Int, since instant: Instant) -> Bool {
        partitions[index].markedAt.map { $0 >= instant } ?? false
    }

    /// Results that wait for the tick go by then, because somebody waits for one of them.
    mutating func hurry(_ index: Int, by instant: Instant) {
        guard partitions[index].tickBy != nil else { return }
        send(index, by: instant, isWaitedFor: true)
    }

    /// How much later than at once we claim, so that others go first; nil where we are the first.
    private func pause(_ partition: Partition, now: Instant) -> Duration? {
        if let until = partition.leftUntil, now < until { return Self.leftPause }
        return partition.rank == 0 ? nil : Self.stealPause
    }

    /// Whether we are the first to claim from a partition, and so may look ahead.
    func isFirst(_ index: Int, now: Instant) -> Bool { pause(partitions[index], now: now) == nil }

    /// Something in the partition is for others to do: they are to claim first for a while.
    mutating func leave(partition: Int, now: Instant) {
        partitions[partition].leftUntil = now.advanced(by: Self.leftSpan)
    }

    /// Where we stand now; what became ours is due, and where we came nearer we look in sooner.
    mutating func share(_ share: PartitionShare, now: Instant) {
        for (index, rank) in zip(partitions.indices, share.ranks) {
            let former = partitions[index].rank
            partitions[index].rank = rank
            if rank == 0, former > 0 {
                partitions[index].plan(.due, from: now, by: now)
            } else if rank < former, case .insurance = partitions[index].occasion {
                let soonest = now.advanced(by: partitions[index].insurance(lookIn: lookIn))
                let by = min(partitions[index].claimBy, soonest)
                let from = min(partitions[index].claimFrom, by)
                partitions[index].plan(.insurance, from: from, by: by)
            }
        }
    }

    /// The earliest instant at which ``next(now:canClaim:)`` may have an answer by itself.
    func nextInstant(canClaim: Bool) -> Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant) {
            earliest = earliest.map { min($0, instant) } ?? instant
        }
        for partition in partitions where partition.isIdle {
            if let sendBy = partition.sendBy { consider(sendBy) }
            if let tickBy = partition.tickBy { consider(tickBy) }
            if canClaim { consider(partition.claimBy) }
        }
        return earliest
    }
}
