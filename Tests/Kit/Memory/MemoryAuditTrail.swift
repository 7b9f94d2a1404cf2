package import Poller
import Synchronization

/// The audit trail in memory, every operation under one lock.
///
/// A class, because recorders, routes and tests share it.
package final class MemoryAuditTrail: AuditTrail {
    private let time: any StoreTime
    private let bounds: AuditBounds
    private let entries = Mutex<[AuditEntry]>([])

    /// No entries.
    package init(time: any StoreTime, bounds: AuditBounds = .standard) {
        self.time = time
        self.bounds = bounds
    }

    package func note(_ change: AuditedChange) async throws(StoreError) -> AuditEntry {
        entries.withLock { entries in
            let now = max(time.now, entries.last?.at ?? time.now)
            let number = entries.count { $0.at == now }
            let entry = AuditEntry(id: "\(now.ms)-\(number)", at: now, change: change)
            entries.append(entry)
            entries.removeAll { $0.at < time.now + (.zero - bounds.ageMax) }
            entries = Array(entries.suffix(bounds.countMax))
            return entry
        }
    }

    package func entries(_ query: AuditQuery) async throws(StoreError) -> ListPage<AuditEntry> {
        let all = Array(entries.withLock { $0 }.reversed())
        var rest = all[...]
        if let cursor = query.cursor {
            guard let place = all.firstIndex(where: { $0.id == cursor }) else {
                throw .unknownCursor
            }
            rest = all[(place + 1)...]
        }
        var found: [AuditEntry] = []
        for entry in rest.prefix(AuditBounds.scanMax) {
            if let told = query.told(entry) { found.append(told) }
            if found.count == query.limit { return ListPage(items: found, next: entry.id) }
        }
        let isMore = rest.count > AuditBounds.scanMax
        return ListPage(
            items: found,
            next: isMore ? rest.prefix(AuditBounds.scanMax).last?.id : nil
        )
    }
}
