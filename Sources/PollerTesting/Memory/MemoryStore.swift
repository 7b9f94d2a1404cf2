package import Poller
import Synchronization

/// The seams of watches and outbox in memory: the reference that the Redis store is held against,
/// and what tests run on when Redis is not the subject.
///
/// Every operation runs under one lock, so each is atomic as a script is. A class, because
/// workers and tests share it.
package final class MemoryStore: WatchStore, Outbox {
    package typealias Item = Watch
    package typealias Change = WatchChange

    struct State: Sendable {
        var queue: MemoryQueue<WatchRecord>
        var outbox: [MemoryOutbox]
        /// Partitions that got an event in the operation that runs.
        var arrived: Set<Int> = []

        /// A watch joined during the lease with a later deadline is not closed by the old one: the
        /// commit then only asks for another look.
        func prolonged(_ commit: Commit<WatchChange>, now: Timestamp) -> Commit<WatchChange> {
            guard commit.verdict == .close(.expired),
                queue.hasPartition(commit.ref.partition),
                let item = queue[commit.ref.partition].items[commit.ref.id],
                case .leased(let lease) = item.phase, lease.hinted, item.record.deadline > now
            else { return commit }
            return Commit(
                ref: commit.ref,
                verdict: .next(after: .zero),
                change: WatchChange(
                    state: commit.change.state,
                    lastError: commit.change.lastError
                ),
                laneHold: commit.laneHold
            )
        }
    }

    /// Partitions 0 ..< `partitions` exist.
    package let partitions: Int
    private let time: any StoreTime
    private let state: Mutex<State>
    private let wakeNews = NewsStreams()
    private let arrivalNews = NewsStreams()

    /// An empty store; `flaws` are mistakes it is to make.
    package init(time: any StoreTime, partitions: Int = 4, flaws: Set<QueueFlaw> = []) {
        self.time = time
        self.partitions = partitions
        state = Mutex(
            State(
                queue: MemoryQueue(partitions: partitions, flaws: flaws),
                outbox: (0..<partitions).map(MemoryOutbox.init(partition:))
            )
        )
    }

    /// The partition a lane lives in.
    package func partition(of lane: LaneID) -> Int {
        PartitionNumber.of(lane, count: partitions)
    }

    /// What is wrong inside; empty as long as the store is sound.
    package func violations() -> [String] {
        state.withLock { $0.queue.partitions.flatMap { $0.violations() } }
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
        let partition = commits.first?.ref.partition ?? 0
        return try attempting { state, now throws(StoreError) in
            var recorded: [(Event, [NotifyURL])] = []
            let results = try state.queue.commit(
                commits.map { state.prolonged($0, now: now) },
                now: now,
                check: { record, change throws(StoreError) in
                    guard let event = change.event, event.seq != record.seq + 1 else { return }
                    throw .corrupt("event \(event.seq) follows \(record.seq) of \(record.key)")
                },
                apply: { record, change in
                    record.apply(change)
                    if let event = change.event { recorded.append((event, record.notify)) }
                }
            )
            for (event, notify) in recorded {
                state.outbox[partition].append(event, notify: notify, now: now)
                state.arrived.insert(partition)
            }
            return results
        }
    }

    package func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        changing { state, now in state.queue.release(refs, now: now) }
    }

    package func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        changing { state, now in
            state.queue[partition].purge(closedBefore: Timestamp(ms: now.ms - retention.ms))
        }
    }

    package func wakes() -> AsyncStream<Int?> {
        wakeNews.stream()
    }

    // MARK: Outbox

    package func unacknowledged(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        changing { state, now in
            state.outbox[partition].handOut(idle: idle, limit: limit, now: now)
        }
    }

    package func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {
        changing { state, _ in state.outbox[partition].acknowledge(Set(ids)) }
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

    package func bounds() async throws(StoreError) -> [OutboxBounds] {
        state.withLock { $0.outbox.map(\.bounds) }
    }

    package func trim(partition: Int, retention: Duration) async throws(StoreError) {
        changing { state, now in
            state.outbox[partition].trim(before: Timestamp(ms: now.ms - retention.ms))
        }
    }

    package func arrivals() -> AsyncStream<Int?> {
        arrivalNews.stream()
    }

    // MARK: Access

    /// Runs one operation atomically, then tells who listens what it made ready.
    func attempting<Result: Sendable>(
        _ operation: (inout State, Timestamp) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let outcome = try state.withLock { state throws(StoreError) in
            let result = try operation(&state, time.now)
            defer { state.arrived = [] }
            return (result, wakes: state.queue.takeNews(), arrivals: state.arrived)
        }
        wakeNews.send(outcome.wakes)
        arrivalNews.send(outcome.arrivals)
        return outcome.0
    }

    /// Runs one operation that cannot fail.
    func changing<Result: Sendable>(
        _ operation: (inout State, Timestamp) -> Result
    ) -> Result {
        let outcome = state.withLock { state in
            let result = operation(&state, time.now)
            defer { state.arrived = [] }
            return (result, wakes: state.queue.takeNews(), arrivals: state.arrived)
        }
        wakeNews.send(outcome.wakes)
        arrivalNews.send(outcome.arrivals)
        return outcome.0
    }

    /// Reads at one moment.
    func reading<Result: Sendable>(_ operation: (borrowing State, Timestamp) -> Result) -> Result {
        state.withLock { operation($0, time.now) }
    }
}
