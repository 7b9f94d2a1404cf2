import Poller

/// The operator's hand on lanes, and the audit.
extension MemoryQueue {
    /// The most lanes of a page, as of watches.
    private static var pageMax: Int { 500 }

    /// Changes a lane, in whichever partition it is.
    mutating func change(_ lane: LaneID, _ change: (inout MemoryLane) -> Void) {
        change(&self[partition(of: lane)][lane])
    }

    /// How a lane stands.
    func report(_ lane: LaneID, now: Timestamp) -> LaneReport? {
        self[partition(of: lane)].report(lane, now: now)
    }

    /// A page of lanes; the cursor counts those that came before.
    func reports(
        limit: Int,
        cursor: String?,
        now: Timestamp
    ) throws(StoreError) -> ListPage<LaneReport> {
        guard let start = Int(cursor ?? "0"), start >= 0 else { throw .unknownCursor }
        let all = partitions.flatMap { $0.reports(now: now) }
        let page = all.dropFirst(start).prefix(min(max(limit, 1), Self.pageMax))
        let isLast = start + page.count >= all.count
        return ListPage(items: Array(page), next: isLast ? nil : "\(start + page.count)")
    }

    /// Checks one partition; `more` tells what else is wrong in an item.
    mutating func audit(
        after cursor: String?,
        repairing: Bool,
        more: (Record) -> String? = { _ in nil }
    ) throws(StoreError) -> AuditPage {
        guard let number = Int(cursor ?? "0"), hasPartition(number) else { throw .unknownCursor }
        let items = self[number].items.values
        let faults = self[number].faults() + items.compactMap { more($0.record) }.sorted()
        if repairing, !faults.isEmpty { self[number].repair() }
        return AuditPage(
            checked: items.count + self[number].lanes.count,
            faults: faults,
            next: hasPartition(number + 1) ? "\(number + 1)" : nil
        )
    }
}
