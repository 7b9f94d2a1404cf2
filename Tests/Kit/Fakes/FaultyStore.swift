package import Poller

/// A store of watches and outbox whose operations fail by a plan.
package struct FaultyStore<Base: WatchStore & Outbox>: WatchStore, Outbox, FaultyLeaseQueue {
    package typealias Item = Watch
    package typealias Change = WatchChange

    let base: Base
    let plan: FaultPlan

    /// Puts a plan in front of a store.
    package init(_ base: Base, plan: FaultPlan) {
        self.base = base
        self.plan = plan
    }

    package func enqueue(_ watches: [NewWatch]) async throws(StoreError) -> [EnqueueResult] {
        try await plan.run(.other) { () throws(StoreError) in try await base.enqueue(watches) }
    }

    package func hint(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.hint(key) }
    }

    package func cancel(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.cancel(key) }
    }

    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await plan.run(.read) { () throws(StoreError) in try await base.snapshot(of: key) }
    }

    package func list(_ query: ListQuery) async throws(StoreError) -> ListPage<WatchSnapshot> {
        try await plan.run(.read) { () throws(StoreError) in try await base.list(query) }
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await plan.run(.read) { () throws(StoreError) in
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

    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in try await base.redrive(key) }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        try await plan.run(.read) { () throws(StoreError) in try await base.stats() }
    }

    package func unacknowledged(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.unacknowledged(
                partition: partition,
                consumer: consumer,
                idle: idle,
                limit: limit
            )
        }
    }

    package func hold(
        partition: Int,
        consumer: OwnerID,
        _ ids: [String]
    ) async throws(StoreError) {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.hold(partition: partition, consumer: consumer, ids)
        }
    }

    package func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {
        try await plan.run(.acknowledge) { () throws(StoreError) in
            try await base.acknowledge(partition: partition, ids)
        }
    }

    package func settled(partition: Int) async throws(StoreError) -> Timestamp {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.settled(partition: partition)
        }
    }

    package func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        try await plan.run(.read) { () throws(StoreError) in
            try await base.entries(partition: partition, after: position, limit: limit)
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
