import Poller

/// Reads pages of the outbox for one request.
struct OutboxReading: Sendable {
    let outbox: any Outbox
    let limit: Int
    let filter: EventFilter

    /// What follows a cursor.
    ///
    /// At most `limit` entries are looked at, so a page with a filter may be empty although there
    /// is more. Costs one look at the bounds and a read for each partition that has something.
    func page(after start: OutboxCursor) async throws -> OutboxPage {
        var cursor = start
        var hasGap = false
        var hasMore = false
        var found: [(position: OutboxCursor.Position, entry: OutboxEntry)] = []
        for (partition, bounds) in try await outbox.bounds().enumerated() {
            let newest = OutboxCursor.Position(bounds.newest) ?? .start
            let trimmed = OutboxCursor.Position(bounds.trimmed) ?? .start
            if cursor.positions[partition] > newest {
                // The store lost its last writes, or is another one: begin again.
                cursor.positions[partition] = .start
                hasGap = true
            }
            if cursor.positions[partition] < trimmed {
                // Who begins at the start asked for what is kept, and misses nothing.
                hasGap = hasGap || cursor.positions[partition] != .start
                cursor.positions[partition] = trimmed
            }
            guard newest > cursor.positions[partition] else { continue }
            let entries = try await outbox.entries(
                partition: partition,
                after: cursor.positions[partition].description,
                limit: limit
            )
            hasMore = hasMore || entries.count == limit
            for entry in entries {
                guard let position = OutboxCursor.Position(entry.id) else {
                    throw StoreError.corrupt("an outbox entry has the id \(entry.id)")
                }
                found.append((position, entry))
            }
        }
        found.sort { ($0.position, $0.entry.partition) < ($1.position, $1.entry.partition) }
        hasMore = hasMore || found.count > limit
        for (position, entry) in found.prefix(limit) {
            cursor.positions[entry.partition] = position
        }
        return OutboxPage(
            events: found.prefix(limit).map(\.entry.event).filter(filter.matches),
            next: cursor,
            hasMore: hasMore,
            hasGap: hasGap
        )
    }
}
