package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
package import PollerWatches
import Synchronization

/// The stores of watches and outbox in memory.
///
/// They are the reference for the Redis store, and tests use them if Redis is not the subject. Every operation runs
/// under one lock, so each is atomic like a script. This is a class because workers and tests share it.
package final class MemoryStore: WatchStore, Outbox {
    package typealias Item = Watch
    package typealias Change = WatchChange

    struct State: Sendable {
        let flaws: Set<QueueFlaw>
        var queue: MemoryQueue<WatchRecord>
        var outbox: [MemoryOutbox]
        var members = MemoryMembers()
        var suspects = MemorySuspects()
        /// Partitions that got an event in the current operation.
        var arrived: Set<Int> = []

        /// Records results, and their events in log and outbox.
        mutating func commit(
            _ commits: [Commit<WatchChange>],
            now: Timestamp
        ) throws(StoreError) -> [CommitResult] {
            let partition = commits.first?.ref.partition ?? 0
            var recorded: [(Event, [NotifyURL])] = []
            let flaws = flaws
            let commits = commits.map { keptOpen(extendedOverGap($0), now: now) }
            let held = commits.filter { isHeld($0.ref) }
            let results = try queue.commit(
                commits,
                now: now,
                check: { record, change throws(StoreError) in
                    for (event, due) in zip(change.events, (record.seq + 1)...)
                    where event.seq != due {
                        throw .outOfOrder("event \(event.seq) instead of \(due) of \(record.key)")
                    }
                },
                apply: { record, change in
                    record.apply(
                        change,
                        forgets: flaws.contains(.forgetsPayments),
                        learnsNothing: flaws.contains(.learnsNoSecrets)
                    )
                    let published = change.events.suffix(
                        flaws.contains(.publishesOnlyTheLastEvent) ? 1 : .max
                    )
                    recorded += published.map {
                        ($0.carrying(metadata: record.metadata), record.notify)
                    }
                }
            )
            for (event, notify) in recorded {
                outbox[partition].append(event, notify: notify, now: now)
                arrived.insert(partition)
            }
            for commit in held { look(at: commit, now: now) }
            return results
        }

        /// Keeps a watch open whose deadline was in a gap, a span without claims.
        ///
        /// The watch gets the time that was left before, and is polled again.
        private mutating func extendedOverGap(_ commit: Commit<WatchChange>) -> Commit<WatchChange>
        {
            guard commit.verdict == .close(.expired), queue.hasPartition(commit.ref.partition)
            else { return commit }
            let partition = queue[commit.ref.partition]
            guard partition.leaseState(of: commit.ref) == .held,
                let deadline = partition.items[commit.ref.id]?.record.deadline,
                partition.gap.holds(deadline)
            else { return commit }
            queue[commit.ref.partition].update(commit.ref.id) { $0.outlive(partition.gap) }
            return Commit(
                ref: commit.ref,
                verdict: .next(after: .zero),
                change: WatchChange(
                    state: commit.change.state,
                    lastError: commit.change.lastError
                ),
                signal: commit.signal,
                isUrgent: commit.isUrgent
            )
        }

        /// Keeps a watch open if a request with a later deadline or a further goal joined during the lease, or with an
        /// order, a charge or an act that the poll does not know.
        ///
        /// The commit then only requests another poll.
        private func keptOpen(
            _ commit: Commit<WatchChange>,
            now: Timestamp
        ) -> Commit<WatchChange> {
            guard queue.hasPartition(commit.ref.partition),
                let item = queue[commit.ref.partition].items[commit.ref.id],
                case .leased(let lease) = item.phase, lease.hinted
            else { return commit }
            let state: WatchState
            switch commit.verdict {
            case .close(.dead): return commit
            case _ where commit.change.hasCharged && commit.verdict != .close(.expired):
                return commit
            case _ where lease.isOutdated && !commit.change.hasCharged: state = item.record.state
            case .close(.expired) where item.record.deadline > now: state = commit.change.state
            // The next poll records the observed status.
            case .close(.reached) where item.record.options.goal != .leftPending:
                state = item.record.state
            default: return commit
            }
            return Commit(
                ref: commit.ref,
                verdict: .next(after: .zero),
                change: WatchChange(state: state, lastError: commit.change.lastError),
                signal: commit.signal,
                isUrgent: commit.isUrgent
            )
        }
    }

    /// The number of partitions, from 0 on.
    package let partitions: Int
    private let time: any StoreTime
    private let state: Mutex<State>
    private let saved = Mutex<State?>(nil)
    private let wakeStreams = NotificationStreams()
    private let markStreams = NotificationStreams()
    private let arrivalStreams = NotificationStreams()
    let read = Mutex(0)
    /// A count of reads by live readers.
    let looks = Mutex(0)
    /// A gate for reads of the ends of the partitions.
    package let boundsGate = ReadGate()
    let unreachable = Mutex<Set<Int>>([])
    let unconfirmed = Mutex<Set<Int>>([])

    /// Creates an empty store; `flaws` are its planted mistakes.
    package init(time: any StoreTime, partitions: Int = 4, flaws: Set<QueueFlaw> = []) {
        self.time = time
        self.partitions = partitions
        state = Mutex(
            State(
                flaws: flaws,
                queue: MemoryQueue(partitions: partitions, flaws: flaws),
                outbox: (0..<partitions).map { MemoryOutbox(partition: $0, flaws: flaws) }
            )
        )
    }

    package func partition(of lane: LaneID) -> Int {
        lane.partition(of: partitions)
    }

    /// Returns violated invariants; empty while the store is sound.
    package func violations() -> [String] {
        state.withLock { state in
            state.queue.partitions.flatMap { partition in
                partition.faults() + partition.items.values.compactMap(\.record.logFault).sorted()
            }
        }
    }

    // MARK: Losing writes

    /// Saves the current state, as Redis does on disk now and then.
    package func checkpoint() {
        let state = state.withLock { $0 }
        saved.withLock { $0 = state }
    }

    /// Returns to the last checkpoint, as Redis does when it loses its last writes.
    package func rewind() {
        guard let state = saved.withLock({ $0 }) else { return }
        self.state.withLock { $0 = state }
        wakeStreams.sendLoss()
        markStreams.sendLoss()
        arrivalStreams.sendLoss()
    }

    /// Follows a clock that was set forward or back by a span.
    package func follow(_ span: Duration) {
        changing { state, now in
            for partition in 0..<partitions { state.queue[partition].follow(span, to: now) }
        }
    }

    // MARK: LeaseQueue

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Watch> {
        changing { state, now in
            state.queue.claim(request, now: now, as: \.watch)
        }
    }

    package func commit(
        _ commits: [Commit<WatchChange>]
    ) async throws(StoreError) -> [CommitResult] {
        try changing { state, now throws(StoreError) in try state.commit(commits, now: now) }
    }

    package func commit(
        _ commits: [Commit<WatchChange>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Watch>) {
        precondition(
            commits.allSatisfy { $0.ref.partition == request.partition },
            "commits and claim of one operation belong to one partition"
        )
        return try changing { state, now throws(StoreError) in
            if state.flaws.contains(.claimsBeforeCommitting) {
                let claim = state.queue.claim(request, now: now, as: \.watch)
                return (try state.commit(commits, now: now), claim)
            }
            let results = try state.commit(commits, now: now)
            return (results, state.queue.claim(request, now: now, as: \.watch))
        }
    }

    package func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        changing { state, now in state.queue.release(refs, now: now) }
    }

    package func recall(_ lost: LostClaims) async throws(StoreError) -> Int {
        changing { state, now in state.queue.recall(lost, now: now) }
    }

    package func purge(
        partition: Int,
        retention: Duration,
        refundableRetention: Duration
    ) async throws(StoreError) -> Bool {
        changing { state, now in
            let oldest = state.queue[partition].gap.olderThan(retention, at: now)
            let sparesNone = state.flaws.contains(.purgesRefundablePayments)
            return state.queue[partition].purge(closedAt: oldest) { record, reason in
                guard !sparesNone,
                    let kept = record.keptUntil(reason, refundableRetention: refundableRetention),
                    kept + (.zero - retention) > oldest
                else { return nil }
                record.forgetLog()
                return kept + (.zero - retention)
            }
        }
    }

    package func wakes() -> AsyncStream<Int?> {
        wakeStreams.stream()
    }

    package func marks() -> AsyncStream<Int?> {
        markStreams.stream()
    }

    // MARK: Outbox

    package func read(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> OutboxRead {
        changing { state, now in
            state.outbox[partition].handOut(to: consumer, idle: idle, limit: limit, now: now)
        }
    }

    package func handedOver(
        partition: Int,
        _ ids: [String]
    ) async throws(StoreError) -> [OutboxEntry] {
        state.withLock { $0.outbox[partition].entries(ids) }
    }

    package func hold(
        partition: Int,
        consumer: OwnerID,
        _ entries: [PendingEntry]
    ) async throws(StoreError) -> Set<String> {
        changing { state, now in state.outbox[partition].hold(entries, by: consumer, now: now) }
    }

    package func positions(
        partition: Int,
        of ids: [String]
    ) async throws(StoreError) -> [String: FanOutPosition] {
        state.withLock { $0.outbox[partition].positions.filter { ids.contains($0.key) } }
    }

    package func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {
        changing { state, _ in state.outbox[partition].acknowledge(Set(ids)) }
    }

    package func acknowledgedUntil(partition: Int) async throws(StoreError) -> Timestamp {
        reading { state, now in state.outbox[partition].acknowledgedUntil ?? now }
    }

    package func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        let entries = state.withLock {
            $0.outbox[partition].entries(after: position, limit: limit)
        }
        guard let entries else { throw .corrupt("no position in the outbox: \(position)") }
        return entries
    }

    package func trim(partition: Int, retention: Duration) async throws(StoreError) {
        changing { state, now in
            let gap = state.queue[partition].gap
            state.outbox[partition].trim(before: gap.olderThan(retention, at: now))
        }
    }

    package func arrivals() -> AsyncStream<Int?> {
        arrivalStreams.stream()
    }

    // MARK: Access

    /// Runs one operation atomically, then notifies subscribers of ready partitions.
    func changing<Result: Sendable, Failure: Error>(
        _ operation: (inout State, Timestamp) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome = try state.withLock { state throws(Failure) in
            let result = try operation(&state, time.now)
            defer { state.arrived = [] }
            return (
                result, wakes: state.queue.takeWake(time.now), marks: state.queue.takeMarks(),
                arrivals: state.arrived
            )
        }
        wakeStreams.send(outcome.wakes)
        markStreams.send(outcome.marks)
        arrivalStreams.send(outcome.arrivals)
        return outcome.0
    }

    /// Reads at one moment.
    func reading<Result: Sendable>(_ operation: (borrowing State, Timestamp) -> Result) -> Result {
        state.withLock { operation($0, time.now) }
    }
}
