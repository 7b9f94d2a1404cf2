import Poller

/// A store whose items live in one ``RedisQueue``: leases, lanes and audits are the queue's.
protocol RedisLeaseQueue: LeaseQueue {
    associatedtype Record: ItemRecord where Record.Item == Item, Record.Change == Change

    var queue: RedisQueue<Record> { get }
}

extension RedisLeaseQueue {
    package var partitions: Int { queue.keys.partitions }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Item> {
        try await queue.claim(request)
    }

    package func commit(_ commits: [Commit<Change>]) async throws(StoreError) -> [CommitResult] {
        try await queue.commit(commits)
    }

    package func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>) {
        try await queue.commit(commits, then: request)
    }

    package func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        try await queue.release(refs)
    }

    package func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        try await queue.purge(partition: partition, retention: retention)
    }

    package func wakes() -> AsyncStream<Int?> {
        queue.partitions(on: queue.keys.wakeChannel)
    }

    package func stats() async throws(StoreError) -> StoreStats {
        try await queue.stats()
    }

    package func lanes(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<LaneReport> {
        try await queue.lanes(limit: limit, cursor: cursor)
    }

    package func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport? {
        try await queue.lane(lane)
    }

    package func pause(_ lane: LaneID) async throws(StoreError) {
        try await queue.control(lane, "pause")
    }

    package func resume(_ lane: LaneID) async throws(StoreError) {
        try await queue.control(lane, "resume")
    }

    package func limit(_ lane: LaneID, to limit: LaneLimit?) async throws(StoreError) {
        try await queue.limit(lane, to: limit)
    }

    package func audit(
        after cursor: String?,
        repairing: Bool
    ) async throws(StoreError) -> AuditPage {
        try await queue.audit(after: cursor, repairing: repairing)
    }
}
