import PollerIdentity

/// Decides when each partition needs an exchange with the store.
///
/// Only ``InFlight`` uses it.
///
/// *Problem.* At a modest rate, most of the cost of a poll is that a single command wakes Redis and this process.
/// Exchanges should therefore be sent rarely and together, without delaying a result that is waited for.
///
/// *Approach.* A partition needs an exchange for four reasons: results have waited long enough, its next ready time has
/// come, a wake arrived, or the safety interval has passed, which bounds the cost of a lost wake. Urgent exchanges
/// start at once and alone: changes, wakes, and results that free a slot for waiting items. All others have a deadline.
/// The first partition to reach its deadline takes along all that would follow within ``tickSpan``: a *tick*. Claims
/// look far enough ahead that items due until the next tick are already in hand.
///
/// ```
///        claimed ahead: ├──────────── 250 ms ────────────┤
/// tick ────────────────┴────────── 230 ms ────────┴─ 20 ─┘
///        all partitions                         all partitions
/// ```
///
/// A partition has one exchange at a time. Results gather behind it, and its answer contains the newest ready time, so
/// a second concurrent one would only find less.
///
/// This type knows times and no counts. The caller decides whether there is room for a claim, so that only one place
/// counts the items in hand.
///
/// *Rejected*: ticks of a fixed clock, because a result would wait for half of one in vain, and a quiet worker would
/// wake for nothing; changes that take other exchanges along, because one poll in ten finds a change, and no results
/// would gather.
struct PartitionSchedule<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// The latest start of a claim before an item is ready: the time for a round trip on a busy machine.
    static var lead: Duration { .milliseconds(20) }
    /// The longest time between claims of the owner and helpers of a partition: the "+ 1 s" of the polling guarantee.
    static var safetyInterval: Duration { .seconds(1) }
    /// The pause after a claim that found nothing although the partition was ready: another process is claiming from
    /// its lane.
    static var emptyPause: Duration { .milliseconds(5) }
    /// The delay of claims by other processes than the owner, so that they find items only when the owner is late.
    static var helperDelay: Duration { .milliseconds(50) }
    /// The longest time between claims of a process that is neither owner nor helper.
    ///
    /// It equals the time in which the partitions of a dead owner are reassigned. The polling guarantee has room for it
    /// if the lease is as long (``Heartbeat``).
    static var checkIntervalMax: Duration { .seconds(8) }
    /// The delay of claims from a partition with items that only other processes can handle: later than any of them.
    static var deferralDelay: Duration { .milliseconds(100) }
    /// The duration of that delay.
    ///
    /// A process with a new configuration is a new process.
    static var deferralSpan: Duration { .seconds(60) }

    /// The reason for the next claim of a partition.
    enum Occasion: Sendable {
        /// An item is due now.
        case due
        /// An item will be ready, and this process claims first.
        case ahead
        /// An item is or will be ready, and other processes claim first.
        case helping
        /// Only the safety interval.
        case safetyCheck

        /// Whether the claim may wait for a tick and start one.
        var isRoutine: Bool {
            switch self {
            case .ahead, .safetyCheck: true
            case .due, .helping: false
            }
        }
    }

    /// A partition that needs an exchange now.
    struct DueExchange: Sendable {
        let partition: Int
        let occasion: Occasion
        /// Whether only the safety interval causes the claim.
        let isSafetyCheck: Bool
        /// Whether earlier claims were not answered, so that they may have taken unknown items.
        let hasLostClaims: Bool
        /// The store's time of the last answered claim.
        let answeredAt: Timestamp?

        /// Returns the unanswered claims before this one.
        func lost(before request: ClaimRequest) -> LostClaims? {
            hasLostClaims ? LostClaims(before: request, since: answeredAt) : nil
        }
    }

    /// The longest time that results without a waiting caller may gather.
    let tickSpan: Duration
    private let ahead: Duration
    private let lead: Duration
    /// The longest time between claims of this process where other processes are nearer.
    private let checkInterval: Duration
    private var partitions: [Partition]
    /// The start of the next search, so that all partitions are served in turn.
    private var searchStart = 0

    /// Creates a schedule in which all partitions are owned and due now.
    ///
    /// Claims are sent before an item is ready: up to `ahead` when other exchanges are sent, and ``lead`` at the
    /// latest. If `lease` is too short for the polling guarantee, every process claims at the safety interval.
    init(partitions: Int, ahead: Duration, lease: Duration, now: Instant) {
        self.partitions = Array(
            repeating: Partition(claimBy: now, claimFrom: now),
            count: partitions
        )
        self.ahead = ahead
        lead = min(Self.lead, ahead / 2)
        tickSpan = ahead - lead
        checkInterval = lease < Self.checkIntervalMax ? Self.safetyInterval : Self.checkIntervalMax
    }

    /// Whether an item is due that no process has claimed.
    var isPressing: Bool {
        partitions.contains { if case .due = $0.occasion { true } else { false } }
    }

    /// Returns the partitions that need an exchange now.
    ///
    /// Their exchanges begin with this call and take all results along. Call `claiming` for those that claim, and end
    /// each with `claimed`, `sent` or `failed`. Until then the partition is not returned again.
    mutating func next(now: Instant, canClaim: Bool) -> [DueExchange] {
        let isTick = partitions.contains { $0.startsTick(now, canClaim: canClaim) }
        var dueExchanges: [DueExchange] = []
        let first = searchStart
        for offset in partitions.indices {
            let index = (first + offset) % partitions.count
            let partition = partitions[index]
            guard partition.needsExchange(now, canClaim: canClaim, isTick: isTick) else { continue }
            if dueExchanges.isEmpty { searchStart = (index + 1) % partitions.count }
            var isSafetyCheck = false
            if case .safetyCheck = partition.occasion,
                partition.rank <= PartitionAssignment.helpers
            {
                isSafetyCheck = partition.claimFrom <= now
            }
            dueExchanges.append(
                DueExchange(
                    partition: index,
                    occasion: partition.occasion,
                    isSafetyCheck: isSafetyCheck,
                    hasLostClaims: partition.hasLostClaims,
                    answeredAt: partition.answeredAt
                )
            )
            partitions[index].state = .sending
            partitions[index].sendBy = nil
            partitions[index].tickBy = nil
        }
        return dueExchanges
    }

    /// Marks the exchange of a partition as one that claims items.
    mutating func claiming(_ index: Int) {
        partitions[index].state = .claiming(isWoken: false)
    }

    /// Ends an exchange without a claim.
    mutating func sent(_ index: Int) {
        partitions[index].state = .idle
    }

    /// Ends an exchange with a claim and plans the next one; `claim` is `nil` if the store refused the request or its
    /// answer was unreadable.
    ///
    /// Items that such a claim holds are recovered when its lease ends, in smaller batches each time.
    mutating func claimed<Item: Sendable>(_ index: Int, _ claim: Claim<Item>?, now: Instant) {
        let taken = claim?.leases.count ?? 0
        let nextReady = claim.flatMap { claim in claim.nextReady.map { max($0 - claim.now, .zero) }
        }
        if let claim {
            partitions[index].hasLostClaims = false
            // The store's clock may go back a little. Earlier claims are then held for longer.
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
        let interval = partitions[index].safetyInterval(checkInterval: checkInterval)
        let wait = nextReady.map { max($0 + (late ?? .zero - lead), pause) } ?? interval
        // If other processes are nearer and this one found no items, the next items are left to them.
        let defersToNearer = taken == 0 && partitions[index].rank > PartitionAssignment.helpers
        guard let nextReady, wait < interval, !defersToNearer else {
            let by = now.advanced(by: interval)
            let from = now.advanced(by: max(interval - tickSpan, .zero))
            return partitions[index].plan(.safetyCheck, from: from, by: by)
        }
        let by = now.advanced(by: wait)
        if late != nil || (taken == 0 && wait == pause) {
            partitions[index].plan(.helping, from: by, by: by)
        } else if nextReady <= lead {
            // The claim reached its limit, so more items are ready.
            partitions[index].plan(.due, from: by, by: by)
        } else {
            let from = now.advanced(by: max(nextReady - ahead, pause))
            partitions[index].plan(.ahead, from: from, by: by)
        }
    }

    /// Ends a failed exchange: it is tried again after a pause, with the results that were put back.
    mutating func failed(_ index: Int, hasResults: Bool, pause: Duration, now: Instant) {
        let again = now.advanced(by: pause)
        if case .claiming = partitions[index].state { partitions[index].hasLostClaims = true }
        partitions[index].state = .idle
        partitions[index].plan(.due, from: again, by: again)
        if hasResults { send(index, by: again, isWaitedFor: true) }
    }

    /// Plans an exchange for a result, no later than `instant`.
    ///
    /// Returns false while an exchange is in transit: the next one begins after its answer.
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

    /// Handles an item that became due earlier than the last claim of its partition returned; `nil` for an unknown
    /// partition.
    mutating func wake(partition: Int?, now: Instant) {
        guard let partition else {
            for index in partitions.indices { wake(partition: index, now: now) }
            return
        }
        guard partitions.indices.contains(partition), !partitions[partition].isOnlyChecked else {
            return
        }
        let late = pause(partitions[partition], now: now)
        let by = min(partitions[partition].claimBy, now.advanced(by: late ?? .zero))
        partitions[partition].plan(late == nil ? .due : .helping, from: by, by: by)
        if case .claiming = partitions[partition].state {
            partitions[partition].state = .claiming(isWoken: late == nil)
        }
    }

    /// Handles the mark of a leased item.
    ///
    /// If this process holds it, its result must be sent at once.
    mutating func marked(partition: Int?, now: Instant) {
        guard let partition else {
            for index in partitions.indices { marked(partition: index, now: now) }
            return
        }
        guard partitions.indices.contains(partition) else { return }
        partitions[partition].markedAt = now
        expedite(partition, by: now)
    }

    /// Whether an item in the partition was marked since `instant`.
    ///
    /// It may be an item claimed then, which is due again as soon as its result is recorded.
    func isMarked(_ index: Int, since instant: Instant) -> Bool {
        partitions[index].markedAt.map { $0 >= instant } ?? false
    }

    /// Sends results that wait for the tick by `instant`, because a caller waits for one of them.
    mutating func expedite(_ index: Int, by instant: Instant) {
        guard partitions[index].tickBy != nil else { return }
        send(index, by: instant, isWaitedFor: true)
    }

    /// Returns the delay by which this process lets others claim first; `nil` if it claims first.
    private func pause(_ partition: Partition, now: Instant) -> Duration? {
        if let until = partition.deferredUntil, now < until { return Self.deferralDelay }
        return partition.rank == 0 ? nil : Self.helperDelay
    }

    /// Whether this process claims first from a partition, and so may look ahead.
    func isFirst(_ index: Int, now: Instant) -> Bool { pause(partitions[index], now: now) == nil }

    /// Lets other processes claim first from a partition for a while.
    mutating func deferToOthers(partition: Int, now: Instant) {
        partitions[partition].deferredUntil = now.advanced(by: Self.deferralSpan)
    }

    /// Sets the assignment.
    ///
    /// Newly owned partitions are due now. Partitions with a nearer rank are checked sooner.
    mutating func assign(_ assignment: PartitionAssignment, now: Instant) {
        for (index, rank) in zip(partitions.indices, assignment.ranks) {
            let former = partitions[index].rank
            partitions[index].rank = rank
            if rank == 0, former > 0 {
                partitions[index].plan(.due, from: now, by: now)
            } else if rank < former, case .safetyCheck = partitions[index].occasion {
                let soonest = now.advanced(
                    by: partitions[index].safetyInterval(checkInterval: checkInterval)
                )
                let by = min(partitions[index].claimBy, soonest)
                let from = min(partitions[index].claimFrom, by)
                partitions[index].plan(.safetyCheck, from: from, by: by)
            }
        }
    }

    /// Returns the earliest instant at which ``next(now:canClaim:)`` may return partitions without an event.
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
