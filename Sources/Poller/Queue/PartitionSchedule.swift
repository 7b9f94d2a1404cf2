/// When each partition is worth an exchange with the store; ``InFlight`` alone asks it.
///
/// Four things make a partition worth one: results that have waited long enough, its own next
/// ready time as the last claim told it, a wake, and the insurance interval that bounds what a
/// lost wake can cost. A partition has one exchange at a time: results gather behind it, and it
/// brings the newest ready time, so a second one beside it could only find less.
///
/// It knows times and no counts. Whether there is room for a claim is the caller's to say, so that
/// what is in hand is counted in one place.
struct PartitionSchedule<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// The longest a partition goes without a claim: the "+ 1 s" of the polling guarantee.
    static var insurance: Duration { .seconds(1) }
    /// The pause after a claim that found nothing although the partition said it was ready: its
    /// lane is closing under somebody else's claim.
    static var emptyPause: Duration { .milliseconds(5) }
    /// How much later than its owner others claim from a partition: they find something only
    /// when the owner is late.
    static var stealPause: Duration { .milliseconds(50) }
    /// How much later we claim where we have met what only others can do: later than any of them.
    static var leftPause: Duration { .milliseconds(100) }
    /// How long that holds: a process that is configured anew is another process.
    static var leftSpan: Duration { .seconds(60) }

    /// A partition that is worth an exchange now.
    struct Turn: Sendable {
        let partition: Int
        /// Nothing but the insurance would make its claim.
        let isInsurance: Bool
    }

    /// What is known about one partition since its last claim.
    private struct Partition: Sendable {
        /// Whether an exchange with it is under way, and what that asked for.
        enum State: Sendable {
            case idle
            /// Its results are on their way and nothing is asked for.
            case sending
            /// A claim is on its way; `isWoken` since it began, so its answer may not know the
            /// news yet.
            case claiming(isWoken: Bool)
        }

        var state = State.idle
        var nextClaim: Instant
        /// The claim is due by the insurance alone.
        var isInsurance = false
        var isOurs = true
        /// Others go first until then.
        var leftUntil: Instant?
        /// When the first of the results that wait must go; nil when none waits.
        var sendBy: Instant?

        var isIdle: Bool { if case .idle = state { true } else { false } }
    }

    private var partitions: [Partition]
    /// Where the next search for a partition starts, so that all get their turn.
    private var turn = 0
    private let lead: Duration

    /// All partitions are due now and ours.
    ///
    /// Claims go out before something is ready, by a quarter of what they look `ahead`.
    init(partitions: Int, ahead: Duration, now: Instant) {
        self.partitions = Array(repeating: Partition(nextClaim: now), count: partitions)
        lead = ahead / 4
    }

    /// The next partition that is worth an exchange; nil when there is none.
    ///
    /// Whoever takes it says so with ``began(_:isClaiming:)`` and ends it with ``claimed(_:taken:nextReady:now:)``,
    /// ``sent(_:)`` or ``failed(_:hasResults:pause:now:)``; meanwhile nobody is told this partition again.
    mutating func next(now: Instant, canClaim: Bool) -> Turn? {
        for offset in 0..<partitions.count {
            let index = (turn + offset) % partitions.count
            let partition = partitions[index]
            guard partition.isIdle else { continue }
            let mustSend = partition.sendBy.map { $0 <= now } ?? false
            let mustClaim = canClaim && partition.nextClaim <= now
            guard mustSend || mustClaim else { continue }
            turn = (index + 1) % partitions.count
            return Turn(partition: index, isInsurance: partition.isInsurance && mustClaim)
        }
        return nil
    }

    /// An exchange takes all results of a partition along, and claims when `isClaiming`.
    mutating func began(_ index: Int, isClaiming: Bool) {
        partitions[index].state = isClaiming ? .claiming(isWoken: false) : .sending
        partitions[index].sendBy = nil
    }

    /// An exchange that asked for nothing has been answered.
    mutating func sent(_ index: Int) {
        partitions[index].state = .idle
    }

    /// A claim took `taken` items and heard that the partition is ready again in `nextReady` (nil:
    /// it is empty).
    mutating func claimed(_ index: Int, taken: Int, nextReady: Duration?, now: Instant) {
        let state = partitions[index].state
        partitions[index].state = .idle
        if case .claiming(isWoken: true) = state {
            partitions[index].nextClaim = now
            return
        }
        let early = pause(partitions[index], now: now) ?? .zero - lead
        var ready = nextReady.map { max($0 + early, .zero) } ?? Self.insurance
        if taken == 0 { ready = max(ready, Self.emptyPause) }
        partitions[index].isInsurance = ready >= Self.insurance
        partitions[index].nextClaim = now.advanced(by: min(ready, Self.insurance))
    }

    /// An exchange failed: try again after a pause, also with the results that it has put back.
    mutating func failed(_ index: Int, hasResults: Bool, pause: Duration, now: Instant) {
        let again = now.advanced(by: pause)
        partitions[index].state = .idle
        partitions[index].nextClaim = again
        partitions[index].isInsurance = false
        if hasResults { send(index, by: again) }
    }

    /// A result waits for an exchange, which must begin by then; or earlier, for another result.
    ///
    /// False while an exchange is under way: the next one begins when that has been answered.
    @discardableResult
    mutating func send(_ index: Int, by instant: Instant) -> Bool {
        partitions[index].sendBy = partitions[index].sendBy.map { min($0, instant) } ?? instant
        return partitions[index].isIdle
    }

    /// Something in the partition (nil: in any) became due earlier than the last claim told.
    mutating func wake(partition: Int?, now: Instant) {
        guard let partition else {
            for index in partitions.indices { wake(partition: index, now: now) }
            return
        }
        guard partitions.indices.contains(partition) else { return }
        let late = pause(partitions[partition], now: now)
        let soon = now.advanced(by: late ?? .zero)
        partitions[partition].nextClaim = min(partitions[partition].nextClaim, soon)
        partitions[partition].isInsurance = false
        if case .claiming = partitions[partition].state {
            partitions[partition].state = .claiming(isWoken: late == nil)
        }
    }

    /// How much later than at once we claim, so that others go first; nil where we are the first.
    private func pause(_ partition: Partition, now: Instant) -> Duration? {
        if let until = partition.leftUntil, now < until { return Self.leftPause }
        return partition.isOurs ? nil : Self.stealPause
    }

    /// Something in the partition is for others to do: they are to claim first for a while.
    mutating func leave(partition: Int, now: Instant) {
        partitions[partition].leftUntil = now.advanced(by: Self.leftSpan)
    }

    /// These partitions are ours to claim from first; in the others we only help out.
    mutating func own(_ ours: Set<Int>, now: Instant) {
        for index in partitions.indices {
            let isOurs = ours.contains(index)
            if isOurs, !partitions[index].isOurs { partitions[index].nextClaim = now }
            partitions[index].isOurs = isOurs
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
            if canClaim { consider(partition.nextClaim) }
        }
        return earliest
    }
}
