package import Poller

/// What operators ask of the queue of deliveries; a lane is an endpoint here.
extension RedisDeliveryQueue: LaneControl, Auditing {
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
