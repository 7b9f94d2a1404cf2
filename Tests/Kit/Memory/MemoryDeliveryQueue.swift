package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
package import PollerWatches
import Synchronization

/// The queue of deliveries in memory.
///
/// Every operation runs under one lock, so each is atomic like a script. This is a class because notifiers and tests
/// share it.
package final class MemoryDeliveryQueue: DeliveryQueue {
    package typealias Item = Delivery
    package typealias Change = DeliveryChange

    struct Record: Sendable {
        var delivery: Delivery
        var createdAt = Timestamp(ms: 0)
        var lastError: String?
        var attempts: [AttemptRecord] = []

        /// Adds an event to those that are sent in any case.
        mutating func sendForced(_ seq: Int) {
            var state = delivery.state
            state.sendForced(seq)
            delivery = Delivery(
                endpoint: delivery.endpoint,
                url: delivery.url,
                watch: delivery.watch,
                state: state
            )
        }
    }

    /// The number of partitions, from 0 on.
    package let partitions: Int
    let flaws: Set<QueueFlaw>
    private let time: any StoreTime
    private let queue: Mutex<MemoryQueue<Record>>
    private let wakeStreams = NotificationStreams()
    let replays = Mutex<[String: ReplayJob]>([:])
    let ledger = Mutex(Ledger())
    let saved = Mutex<(MemoryQueue<Record>, Ledger)?>(nil)

    /// Creates an empty queue; `flaws` are its planted mistakes.
    package init(time: any StoreTime, partitions: Int = 4, flaws: Set<QueueFlaw> = []) {
        self.time = time
        self.partitions = partitions
        self.flaws = flaws
        queue = Mutex(MemoryQueue(partitions: partitions, circuit: .endpoint, flaws: flaws))
    }

    package func partition(of lane: LaneID) -> Int {
        lane.partition(of: partitions)
    }

    /// Returns violated invariants; empty while the queue is sound.
    package func violations() -> [String] {
        queue.withLock { $0.partitions.flatMap { $0.faults() } }
    }

    /// Follows a clock that was set forward or back by a span.
    package func follow(_ span: Duration) {
        changing { queue, now in
            for partition in 0..<partitions { queue[partition].follow(span, to: now) }
        }
    }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Delivery> {
        changing { queue, now in queue.claim(request, now: now, as: \.delivery) }
    }

    package func commit(
        _ commits: [Commit<DeliveryChange>]
    ) async throws(StoreError) -> [CommitResult] {
        try changing { queue, now throws(StoreError) in
            try Self.commit(commits, to: &queue, now: now)
        }
    }

    package func commit(
        _ commits: [Commit<DeliveryChange>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Delivery>) {
        precondition(
            commits.allSatisfy { $0.ref.partition == request.partition },
            "commits and claim of one operation belong to one partition"
        )
        return try changing { queue, now throws(StoreError) in
            let results = try Self.commit(commits, to: &queue, now: now)
            return (results, queue.claim(request, now: now, as: \.delivery))
        }
    }

    private static func commit(
        _ commits: [Commit<DeliveryChange>],
        to queue: inout MemoryQueue<Record>,
        now: Timestamp
    ) throws(StoreError) -> [CommitResult] {
        try queue.commit(
            commits,
            now: now,
            check: { (_, _) throws(StoreError) in },
            apply: { record, change in
                record = Record(
                    delivery: Delivery(
                        endpoint: record.delivery.endpoint,
                        url: record.delivery.url,
                        watch: record.delivery.watch,
                        state: change.state
                    ),
                    createdAt: record.createdAt,
                    lastError: change.keepsError ? record.lastError : change.lastError,
                    attempts: (record.attempts + [change.attempt].compactMap(\.self))
                        .suffix(AttemptRecord.countMax)
                )
            }
        )
    }

    package func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        changing { queue, now in queue.release(refs, now: now) }
    }

    package func recall(_ lost: LostClaims) async throws(StoreError) -> Int {
        changing { queue, now in queue.recall(lost, now: now) }
    }

    package func trimAttempts(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool {
        changing { queue, now in
            let oldest = queue[partition].gap.olderThan(retention, at: now)
            queue[partition].change(closedUpTo: oldest) { record in
                guard record.delivery.state.dead.isEmpty else { return }
                let reduced = record.attempts.compactMap(\.withoutDetails)
                record.attempts = reduced.suffix(Self.acceptedMax)
            }
        }
        return false
    }

    /// How many accepted events with short numbers are kept.
    private static var acceptedMax: Int { 5 }

    package func purge(
        partition: Int,
        retention: Duration,
        refundableRetention: Duration
    ) async throws(StoreError) -> Bool {
        changing { queue, now in
            let gap = queue[partition].gap
            return queue[partition].purge(closedAt: gap.olderThan(retention, at: now))
        }
    }

    package func purge(
        partition: Int,
        retention: Duration,
        keeping isKept: (WatchKey) async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Bool {
        let watches = reading { queue, now in
            let oldest = queue[partition].gap.olderThan(retention, at: now)
            return queue[partition].items.values.compactMap { item -> WatchKey? in
                guard case .closed(_, let at) = item.phase, at <= oldest else { return nil }
                return item.record.delivery.watch
            }
        }
        var removed: Set<WatchKey> = []
        for watch in watches where try await !isKept(watch) {
            removed.insert(watch)
        }
        return changing { queue, now in
            let oldest = queue[partition].gap.olderThan(retention, at: now)
            return queue[partition].purge(closedAt: oldest) { record, _ in
                removed.contains(record.delivery.watch) ? nil : oldest + .seconds(86_400)
            }
        }
    }

    package func wakes() -> AsyncStream<Int?> {
        wakeStreams.stream()
    }

    package func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        try changing { queue, now throws(StoreError) in
            for mark in deliveries {
                let lane = LaneID(endpoint: mark.endpoint)
                let partition = queue.partition(of: lane)
                let id = Delivery.id(endpoint: mark.endpoint, watch: mark.watch)
                if let item = queue[partition].items[id] {
                    if let seq = mark.forcedSeq {
                        if case .leased = item.phase, !flaws.contains(.losesNamedEvents) {
                            throw .unavailable("the delivery is leased")
                        }
                        queue[partition].update(id) { $0.sendForced(seq) }
                    }
                    queue[partition].makeDue(id, isUrgent: mark.isUrgent, now: now)
                    continue
                }
                let delivery = Delivery(
                    endpoint: mark.endpoint,
                    url: mark.url,
                    watch: mark.watch,
                    state: DeliveryState(again: [mark.forcedSeq].compactMap(\.self))
                )
                queue[partition].insert(
                    id,
                    lane: lane,
                    Record(delivery: delivery, createdAt: now),
                    isUrgent: mark.isUrgent,
                    now: now
                )
            }
        }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        queue.withLock { $0.stats(now: time.now) }
    }

    /// Reads at one moment.
    func reading<Result: Sendable>(
        _ operation: (MemoryQueue<Record>, Timestamp) -> Result
    ) -> Result {
        queue.withLock { operation($0, time.now) }
    }

    /// Runs one operation atomically, then notifies subscribers of ready partitions.
    func changing<Result: Sendable, Failure: Error>(
        _ operation: (inout MemoryQueue<Record>, Timestamp) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (result, wakes) = try queue.withLock { queue throws(Failure) in
            (try operation(&queue, time.now), queue.takeWake(time.now))
        }
        wakeStreams.send(wakes)
        return result
    }
}

/// The ledger of marks, and losing the last writes as in a failover.
extension MemoryDeliveryQueue: MarkWatermarkStore {
    /// The recorded marks by partition.
    struct Ledger: Sendable {
        struct Note: Sendable {
            let history: String
            let markedBefore: Timestamp
        }

        /// How often the queue has lost its last writes.
        var losses = 0
        var notes: [Int: Note] = [:]

        var history: String { "history-\(losses)" }
    }

    package func watermark(partition: Int) async throws(StoreError) -> MarkWatermark {
        ledger.withLock { ledger in
            let note = ledger.notes[partition]
            return MarkWatermark(
                history: ledger.history,
                noted: note?.history,
                markedBefore: note?.markedBefore ?? Timestamp(ms: 0)
            )
        }
    }

    package func note(
        partition: Int,
        markedBefore: Timestamp,
        in history: String
    ) async throws(StoreError) {
        ledger.withLock { ledger in
            guard history == ledger.history || flaws.contains(.notesForAnyHistory) else { return }
            ledger.notes[partition] = Ledger.Note(history: history, markedBefore: markedBefore)
        }
    }

    /// Saves the current state, like a replica that falls behind.
    package func checkpoint() {
        let queue = reading { queue, _ in queue }
        let ledger = ledger.withLock(\.self)
        saved.withLock { $0 = (queue, ledger) }
    }

    /// Returns to the last checkpoint, as when that replica takes over.
    package func rewind() {
        guard let (queue, old) = saved.withLock(\.self) else { return }
        changing { present, _ in present = queue }
        ledger.withLock { ledger in
            ledger.notes = old.notes
            ledger.losses += 1
        }
    }
}

extension MemoryDeliveryQueue: MemoryLanes {
    func onQueue<Result: Sendable>(
        _ operation: (inout MemoryQueue<Record>, Timestamp) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try changing(operation)
    }
}
