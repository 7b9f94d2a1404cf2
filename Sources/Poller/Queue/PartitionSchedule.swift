/// When each partition is worth an exchange, and how many items may be in flight.
///
/// Pure: the ``LeaseWorker`` asks it what to do and tells it what happened. A visit sends the
/// results that wait for a partition and claims from it, in one operation of the store. Four
/// things make a partition worth one: results that have waited long enough, its own next ready
/// time as the last claim told it, a wake, and the insurance interval that bounds what a lost
/// wake can cost.
package struct PartitionSchedule<Instant: InstantProtocol>: Sendable
where Instant.Duration == Duration, Instant: Sendable {
    /// The longest a partition goes without a claim: the "+ 1 s" of the polling guarantee.
    static var insurance: Duration { .seconds(1) }
    /// The pause after a claim that found nothing although the partition said it was ready: its
    /// lane is closing under somebody else's claim.
    static var emptyPause: Duration { .milliseconds(5) }
    /// The most items of one claim: 128 records are about a millisecond of Redis.
    static var claimMax: Int { 128 }
    /// Claims are not cut below this while so much is free.
    static var claimMin: Int { 16 }
    /// How long a result that nobody waits for may gather others: it holds a slot of its lane,
    /// and a crash now repeats the poll.
    static var gatherSpan: Duration { .milliseconds(15) }
    /// The same while more than half of our slots are taken.
    static var gatherSpanBusy: Duration { .milliseconds(3) }
    /// So many results are enough for a visit at once.
    static var gatherMax: Int { 64 }
    /// How much later than its owner others claim from a partition: they find something only
    /// when the owner is late.
    static var stealPause: Duration { .milliseconds(50) }
    /// How much later we claim where we have met what only others can do: later than any of them.
    static var leftPause: Duration { .milliseconds(100) }
    /// How long that holds: a process that is configured anew is another process.
    static var leftSpan: Duration { .seconds(60) }

    private var partitions: [Partition]
    /// Where the next search for a partition starts, so that all get their turn.
    private var turn = 0
    private let lead: Duration
    private let concurrency: Int
    /// How many more items may be taken.
    package private(set) var free: Int
    /// Nothing is claimed while this is false; results still go out.
    package var isClaiming = true

    /// What is known about one partition since its last claim.
    private struct Partition: Sendable {
        var nextClaim: Instant
        /// The claim is due by the insurance alone.
        var isInsurance = false
        /// Woken since the last claim began: its answer may not know the news yet.
        var isWoken = false
        var isVisited = false
        var isOurs = true
        /// Others go first until then.
        var leftUntil: Instant?
        /// Results that wait, and when the first of them must go.
        var waiting = 0
        var sendBy: Instant?
    }

    /// All partitions are due now and ours; `concurrency` items may be in hand.
    ///
    /// Claims go out before something is ready, by a quarter of what they look `ahead`.
    package init(partitions: Int, concurrency: Int, ahead: Duration, now: Instant) {
        self.partitions = Array(repeating: Partition(nextClaim: now), count: partitions)
        self.concurrency = concurrency
        free = concurrency
        lead = ahead / 4
    }

    /// The next visit that is due; nil when there is none.
    ///
    /// The caller makes it and reports with ``visited(_:taken:nextReady:now:)`` or
    /// ``failed(_:pause:now:)``; until then the partition is not returned again.
    package mutating func next(now: Instant) -> Exchange? {
        for offset in 0..<partitions.count {
            let index = (turn + offset) % partitions.count
            let partition = partitions[index]
            guard !partition.isVisited else { continue }
            let mustSend = partition.sendBy.map { $0 <= now } ?? false
            let mustClaim = isClaiming && free > 0 && partition.nextClaim <= now
            guard mustSend || mustClaim else { continue }
            turn = (index + 1) % partitions.count
            return begin(index, isInsurance: partition.isInsurance && mustClaim)
        }
        return nil
    }

    private mutating func begin(_ index: Int, isInsurance: Bool) -> Exchange {
        let results = partitions[index].waiting
        free += results
        // Half of what is free, so that other partitions need not wait for this answer.
        let share = min(free, Self.claimMax, max(Self.claimMin, free / 2))
        let limit = isClaiming ? max(0, share) : 0
        free -= limit
        partitions[index].isVisited = true
        partitions[index].waiting = 0
        partitions[index].sendBy = nil
        if limit > 0 { partitions[index].isWoken = false }
        return Exchange(partition: index, results: results, limit: limit, isInsurance: isInsurance)
    }

    /// A visit took `taken` items and heard that the partition is ready again in `nextReady`
    /// (nil: it is empty).
    package mutating func visited(
        _ visit: Exchange,
        taken: Int,
        nextReady: Duration?,
        now: Instant
    ) {
        let index = visit.partition
        partitions[index].isVisited = false
        guard visit.limit > 0 else { return }
        free += visit.limit - taken
        if partitions[index].isWoken {
            partitions[index].isWoken = false
            partitions[index].nextClaim = now
            return
        }
        let early = pause(partitions[index], now: now) ?? .zero - lead
        var ready = nextReady.map { max($0 + early, .zero) } ?? Self.insurance
        if taken == 0 { ready = max(ready, Self.emptyPause) }
        partitions[index].isInsurance = ready >= Self.insurance
        partitions[index].nextClaim = now.advanced(by: min(ready, Self.insurance))
    }

    /// A visit failed: try again after a pause, with `waiting` results put back.
    package mutating func failed(_ visit: Exchange, waiting: Int, pause: Duration, now: Instant) {
        let index = visit.partition
        let again = now.advanced(by: pause)
        partitions[index].isVisited = false
        partitions[index].nextClaim = again
        partitions[index].isInsurance = false
        free += visit.limit - waiting
        guard waiting > 0 else { return }
        partitions[index].waiting += waiting
        partitions[index].sendBy = partitions[index].sendBy.map { min($0, again) } ?? again
    }

    /// A result waits to be sent; somebody waits for it when it `isNews`.
    package mutating func finished(partition index: Int, isNews: Bool, now: Instant) {
        partitions[index].waiting += 1
        let isEnough = isNews || partitions[index].waiting >= Self.gatherMax
        let span = free * 2 < concurrency ? Self.gatherSpanBusy : Self.gatherSpan
        let by = isEnough ? now : now.advanced(by: span)
        partitions[index].sendBy = partitions[index].sendBy.map { min($0, by) } ?? by
    }

    /// Something in the partition (nil: in any) became due earlier than the last claim told.
    package mutating func wake(partition: Int?, now: Instant) {
        guard let partition else {
            for index in partitions.indices { wake(partition: index, now: now) }
            return
        }
        guard partitions.indices.contains(partition) else { return }
        let late = pause(partitions[partition], now: now)
        let soon = now.advanced(by: late ?? .zero)
        partitions[partition].nextClaim = min(partitions[partition].nextClaim, soon)
        partitions[partition].isInsurance = false
        partitions[partition].isWoken = late == nil
    }

    /// How much later than at once we claim, so that others go first; nil where we are the first.
    private func pause(_ partition: Partition, now: Instant) -> Duration? {
        if let until = partition.leftUntil, now < until { return Self.leftPause }
        return partition.isOurs ? nil : Self.stealPause
    }

    /// Something in the partition is for others to do: they are to claim first for a while.
    package mutating func leave(partition: Int, now: Instant) {
        partitions[partition].leftUntil = now.advanced(by: Self.leftSpan)
    }

    /// These partitions are ours to claim from first; in the others we only help out.
    package mutating func own(_ ours: Set<Int>, now: Instant) {
        for index in partitions.indices {
            let isOurs = ours.contains(index)
            if isOurs, !partitions[index].isOurs { partitions[index].nextClaim = now }
            partitions[index].isOurs = isOurs
        }
    }

    /// The earliest instant at which ``next(now:)`` may have an answer by itself.
    package var nextInstant: Instant? {
        var earliest: Instant?
        func consider(_ instant: Instant) {
            earliest = earliest.map { min($0, instant) } ?? instant
        }
        for partition in partitions where !partition.isVisited {
            if let sendBy = partition.sendBy { consider(sendBy) }
            if isClaiming, free > 0 { consider(partition.nextClaim) }
        }
        return earliest
    }
}
