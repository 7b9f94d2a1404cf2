package import PollerDeliveries
package import PollerIdentity
package import PollerPayments
package import PollerQueue
package import PollerWatches

/// A watch store or an outbox whose operations fail according to a plan.
package struct FaultyStore<Base: Sendable>: Sendable {
    package let base: Base
    package let plan: FaultPlan

    /// Wraps a store with a plan.
    package init(_ base: Base, plan: FaultPlan) {
        self.base = base
        self.plan = plan
    }
}

extension FaultyStore: LeaseQueue, WatchStore, FaultyLeaseQueue where Base: WatchStore {
    package typealias Item = Watch
    package typealias Change = WatchChange

    package func enqueue(
        _ watches: [NewWatch],
        reading: Bool
    ) async throws(StoreError) -> [EnqueueResult] {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.enqueue(watches, reading: reading)
        }
    }

    package func hint(_ key: WatchKey, of topic: HintTopic) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.hint(key, of: topic) }
    }

    package func cancel(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.cancel(key) }
    }

    package func announce(
        _ notice: MandateNotice,
        of key: WatchKey
    ) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.announce(notice, of: key)
        }
    }

    package func restore(_ archived: [ArchivedWatch]) async throws(StoreError) -> [Bool] {
        try await plan.run(.other) { () throws(StoreError) in try await base.restore(archived) }
    }

    package func compact(partition: Int, after span: Duration) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.compact(partition: partition, after: span)
        }
    }

    package func removeBodies(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.removeBodies(partition: partition, retention: retention)
        }
    }

    package func note(_ note: WatchNote, of key: WatchKey) async throws(StoreError) {
        try await plan.run(.other) { () throws(StoreError) in try await base.note(note, of: key) }
    }

    package func notes(of key: WatchKey) async throws(StoreError) -> [StoredNote] {
        try await plan.run(.read) { () throws(StoreError) in try await base.notes(of: key) }
    }

    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await plan.run(.read) { () throws(StoreError) in try await base.snapshot(of: key) }
    }

    package var searchKeys: SearchKeys { .standard }

    package func list(_ query: ListQuery) async throws(StoreError) -> ListPage<WatchSnapshot> {
        try await plan.run(.read) { () throws(StoreError) in try await base.list(query) }
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        if plan.isAway(key.lane) { throw .unavailable("\(key.lane) does not respond") }
        return try await plan.run(.read) { () throws(StoreError) in
            try await base.events(of: key, after: seq, limit: limit)
        }
    }

    package func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation? {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.explain(key, limit: limit)
        }
    }

    package func overdue(in lane: LaneID, limit: Int) async throws(StoreError) -> [OverdueWatch] {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.overdue(in: lane, limit: limit)
        }
    }

    package func dismiss(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.dismiss(key) }
    }

    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.redrive(key) }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        try await plan.run(.read) { () throws(StoreError) in try await base.stats() }
    }
}

extension FaultyStore: Outbox where Base: Outbox {
    package var partitions: Int { base.partitions }

    package func read(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> OutboxRead {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.read(
                partition: partition,
                consumer: consumer,
                idle: idle,
                limit: limit
            )
        }
    }

    package func handedOver(
        partition: Int,
        _ ids: [String]
    ) async throws(StoreError) -> [OutboxEntry] {
        try await base.handedOver(partition: partition, ids)
    }

    package func hold(
        partition: Int,
        consumer: OwnerID,
        _ entries: [PendingEntry]
    ) async throws(StoreError) -> Set<String> {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.hold(partition: partition, consumer: consumer, entries)
        }
    }

    package func positions(
        partition: Int,
        of ids: [String]
    ) async throws(StoreError) -> [String: FanOutPosition] {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.positions(partition: partition, of: ids)
        }
    }

    package func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {
        try await plan.run(.acknowledge) { () throws(StoreError) in
            try await base.acknowledge(partition: partition, ids)
        }
    }

    package func acknowledgedUntil(partition: Int) async throws(StoreError) -> Timestamp {
        try await plan.run(outbox: partition, .read) { () throws(StoreError) in
            try await base.acknowledgedUntil(partition: partition)
        }
    }

    package func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        try await plan.run(outbox: partition, .read) { () throws(StoreError) in
            try await base.entries(partition: partition, after: position, limit: limit)
        }
    }

    package func references(
        behind cursors: [OutboxReadPosition],
        limit: Int
    ) async throws(StoreError) -> [[OutboxReference]] {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.references(behind: cursors, limit: limit)
        }
    }

    package func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?] {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.events(of: references)
        }
    }

    package func bounds() async throws(StoreError) -> [OutboxBounds] {
        try await plan.run(.read) { () throws(StoreError) in try await base.bounds() }
    }

    package func trim(partition: Int, retention: Duration) async throws(StoreError) {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.trim(partition: partition, retention: retention)
        }
    }

    package func arrivals() -> AsyncStream<Int?> { base.arrivals() }
}

/// A lease queue that fails according to a plan and otherwise forwards to another queue.
package protocol FaultyLeaseQueue: LeaseQueue {
    associatedtype Base: LeaseQueue where Base.Item == Item, Base.Change == Change

    var base: Base { get }
    var plan: FaultPlan { get }
}

extension FaultyLeaseQueue {
    package var partitions: Int { base.partitions }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Item> {
        try await plan.run(.claim) { () throws(StoreError) in try await base.claim(request) }
    }

    package func commit(_ commits: [Commit<Change>]) async throws(StoreError) -> [CommitResult] {
        try await plan.run(.commit) { () throws(StoreError) in try await base.commit(commits) }
    }

    package func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>) {
        try await plan.run(.commit) { () throws(StoreError) in
            try await base.commit(commits, then: request)
        }
    }

    package func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        try await plan.run(.release) { () throws(StoreError) in try await base.release(refs) }
    }

    package func recall(_ lost: LostClaims) async throws(StoreError) -> Int {
        try await plan.run(.release) { () throws(StoreError) in try await base.recall(lost) }
    }

    package func purge(
        partition: Int,
        retention: Duration,
        refundableRetention: Duration
    ) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.purge(
                partition: partition,
                retention: retention,
                refundableRetention: refundableRetention
            )
        }
    }

    package func wakes() -> AsyncStream<Int?> { base.wakes() }

    package func marks() -> AsyncStream<Int?> { base.marks() }
}

/// A queue of deliveries whose operations fail according to a plan.
package struct FaultyDeliveryQueue<Base: DeliveryQueue>: DeliveryQueue, FaultyLeaseQueue {
    package typealias Item = Delivery
    package typealias Change = DeliveryChange

    package let base: Base
    package let plan: FaultPlan

    /// Wraps a queue with a plan.
    package init(_ base: Base, plan: FaultPlan) {
        self.base = base
        self.plan = plan
    }

    package func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        let unstored = await markReachable(deliveries)
        if let failure = unstored.failure { throw failure }
    }

    package func markReachable(_ deliveries: [DeliveryMark]) async -> UnstoredMarks {
        let unreachable = deliveries.filter { plan.isAway(LaneID(endpoint: $0.endpoint)) }
        let rest = deliveries.filter { !plan.isAway(LaneID(endpoint: $0.endpoint)) }
        var unstored = UnstoredMarks()
        if !unreachable.isEmpty {
            let failure = StoreError.unavailable("the shard of the deliveries does not respond")
            unstored.add(UnstoredMarks(unreachable, because: failure))
        }
        do throws(StoreError) {
            try await plan.run(.mark) { () throws(StoreError) in try await base.mark(rest) }
        } catch {
            unstored.add(UnstoredMarks(rest, because: error))
        }
        return unstored
    }

    package func trimAttempts(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.trimAttempts(partition: partition, retention: retention)
        }
    }

    package func purge(
        partition: Int,
        retention: Duration,
        keeping isKept: (WatchKey) async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.purge(partition: partition, retention: retention, keeping: isKept)
        }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        try await plan.run(.read) { () throws(StoreError) in try await base.stats() }
    }
}

extension FaultyDeliveryQueue: MarkWatermarkStore where Base: MarkWatermarkStore {
    package func partition(of lane: LaneID) -> Int { base.partition(of: lane) }

    package func watermark(partition: Int) async throws(StoreError) -> MarkWatermark {
        try await plan.run(ledger: partition) { () throws(StoreError) in
            try await base.watermark(partition: partition)
        }
    }

    package func note(
        partition: Int,
        markedBefore: Timestamp,
        in history: String
    ) async throws(StoreError) {
        try await plan.run(ledger: partition) { () throws(StoreError) in
            try await base.note(partition: partition, markedBefore: markedBefore, in: history)
        }
    }
}
