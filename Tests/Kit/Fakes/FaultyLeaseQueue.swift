import Poller

/// A lease queue whose operations fail by a plan and are otherwise those of another one.
protocol FaultyLeaseQueue: LeaseQueue {
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

    package func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        try await plan.run(.other) { () throws(StoreError) in
            try await base.purge(partition: partition, retention: retention)
        }
    }

    package func wakes() -> AsyncStream<Int?> { base.wakes() }
}
