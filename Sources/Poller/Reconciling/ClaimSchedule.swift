/// When each partition is worth the next claim, and how many items may be in flight.
///
/// Pure: the ``Reconciler`` asks it what to do and tells it what happened. Three things make a
/// partition worth a claim: its own next ready time as the last claim told it, a wake, and the
/// insurance interval that bounds what a lost wake can cost.
package struct ClaimSchedule<Instant: InstantProtocol>: Sendable
where Instant.Duration == Duration, Instant: Sendable {
    /// The longest a partition goes without a claim: the "+ 1 s" of the polling guarantee.
    static var insurance: Duration { .seconds(1) }
    /// The pause after a claim that found nothing although the partition said it was ready: its
    /// lane is closing under somebody else's claim.
    static var emptyPause: Duration { .milliseconds(5) }
    /// The most items of one claim: 128 records are about a millisecond of Redis.
    static var claimMax: Int { 128 }

    private var nextClaim: [Instant]
    /// Partitions woken since their last claim began: its answer may not know the news yet.
    private var woken: Set<Int> = []
    /// Where the next search for a due partition starts, so that all get their turn.
    private var turn = 0
    /// How many more items may be taken.
    package private(set) var free: Int

    /// All partitions are due now; `concurrency` items may be in flight.
    package init(partitions: Int, concurrency: Int, now: Instant) {
        nextClaim = Array(repeating: now, count: partitions)
        free = concurrency
    }

    /// The next partition worth a claim and the most items to ask for; nil when none is due or
    /// no item may be taken.
    ///
    /// Whoever is told a partition claims from it and reports with
    /// ``claimed(partition:taken:nextReady:now:)`` or ``failed(partition:pause:now:)``.
    package mutating func due(now: Instant) -> (partition: Int, limit: Int)? {
        guard free > 0 else { return nil }
        for offset in 0..<nextClaim.count {
            let partition = (turn + offset) % nextClaim.count
            if nextClaim[partition] <= now {
                turn = (partition + 1) % nextClaim.count
                woken.remove(partition)
                return (partition, min(free, Self.claimMax))
            }
        }
        return nil
    }

    /// A claim returned `taken` items and said that the partition is ready again in `nextReady`
    /// (nil: it is empty).
    package mutating func claimed(
        partition: Int,
        taken: Int,
        nextReady: Duration?,
        now: Instant
    ) {
        free -= taken
        if woken.remove(partition) != nil {
            nextClaim[partition] = now
            return
        }
        let ready = nextReady.map { taken > 0 ? $0 : max($0, Self.emptyPause) }
        nextClaim[partition] = now.advanced(by: min(ready ?? Self.insurance, Self.insurance))
    }

    /// A claim failed: try again after a pause.
    package mutating func failed(partition: Int, pause: Duration, now: Instant) {
        nextClaim[partition] = now.advanced(by: pause)
    }

    /// Something in the partition (nil: in any) became due earlier than the last claim told.
    package mutating func wake(partition: Int?, now: Instant) {
        guard let partition else {
            for index in nextClaim.indices { nextClaim[index] = now }
            woken.formUnion(nextClaim.indices)
            return
        }
        guard nextClaim.indices.contains(partition) else { return }
        nextClaim[partition] = now
        woken.insert(partition)
    }

    /// An item is done with.
    package mutating func finished() {
        free += 1
    }

    /// The earliest instant at which ``due(now:)`` may have an answer, as long as items may be
    /// taken.
    package var nextInstant: Instant? {
        free > 0 ? nextClaim.min() : nil
    }
}
