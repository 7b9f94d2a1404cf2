package import Poller

/// A queue of deliveries whose operations fail by a plan.
package struct FaultyDeliveryQueue<Base: DeliveryQueue>: DeliveryQueue {
    private let base: Base
    private let plan: FaultPlan

    /// Puts a plan in front of a queue.
    package init(_ base: Base, plan: FaultPlan) {
        self.base = base
        self.plan = plan
    }

    package var partitions: Int { base.partitions }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Delivery> {
        try await plan.run(.claim) { () throws(StoreError) in try await base.claim(request) }
    }

    package func commit(
        _ commits: [Commit<DeliveryChange>]
    ) async throws(StoreError) -> [CommitResult] {
        try await plan.run(.commit) { () throws(StoreError) in try await base.commit(commits) }
    }

    package func commit(
        _ commits: [Commit<DeliveryChange>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Delivery>) {
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

    package func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        try await plan.run(.mark) { () throws(StoreError) in try await base.mark(deliveries) }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        try await plan.run(.read) { () throws(StoreError) in try await base.stats() }
    }
}
