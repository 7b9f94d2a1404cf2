package import Poller

/// The operator's side: lanes and audit.
extension MemoryDeliveryQueue: LaneControl, Auditing {
    package func lanes(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<LaneReport> {
        try attempting { queue, now throws(StoreError) in
            try queue.reports(limit: limit, cursor: cursor, now: now)
        }
    }

    package func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport? {
        changing { queue, now in queue.report(lane, now: now) }
    }

    package func pause(_ lane: LaneID) async throws(StoreError) {
        changing { queue, _ in queue.change(lane) { $0.isPaused = true } }
    }

    package func resume(_ lane: LaneID) async throws(StoreError) {
        changing { queue, _ in queue.change(lane) { $0.resume() } }
    }

    package func limit(_ lane: LaneID, to limit: LaneLimit?) async throws(StoreError) {
        changing { queue, _ in queue.change(lane) { $0.ownLimit = limit } }
    }

    package func audit(
        after cursor: String?,
        repairing: Bool
    ) async throws(StoreError) -> AuditPage {
        try attempting { queue, _ throws(StoreError) in
            try queue.audit(after: cursor, repairing: repairing)
        }
    }
}
