import JSONText
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// Reads pages of the outbox for one request.
///
/// For a caller with access to all accounts, a page is the result of examining `limit` entries. For a bound caller, a
/// page must reveal nothing of other accounts. So reading continues until the page is full and it is known whether a
/// further event follows. Then neither the page length nor `has_more` nor the number of pages depends on other
/// accounts' entries. `roundsMax` limits the work.
struct OutboxReading: Sendable {
    /// The maximum number of entries of a partition per round.
    private static let examinedMax = 250
    /// The maximum rounds per page: with sixteen partitions, twenty thousand entries.
    private static let roundsMax = 5

    let outbox: any Outbox
    let limit: Int
    let filter: EventFilter
    /// Whether the caller has access to all accounts.
    let seesAllAccounts: Bool

    /// Returns the page after a cursor.
    ///
    /// For a caller with access to all accounts, at most `limit` entries are examined, so a filtered page may be empty
    /// although there are more. The cost is one read of the bounds, and one read per partition with new entries.
    func page(after start: OutboxCursor) async throws -> OutboxPage {
        var page = OutboxPage(next: start, hasMore: true)
        for _ in 0..<(seesAllAccounts ? 1 : Self.roundsMax) {
            let part = try await part(after: page.next, limit - page.events.count)
            page = OutboxPage(
                events: page.events + part.events,
                next: part.next,
                hasMore: part.hasMore,
                hasGap: page.hasGap || part.hasGap,
                examined: page.examined + part.examined
            )
            // A part that was cut is followed by at least one more matching event.
            if part.isCut || !part.hasMore { break }
        }
        return page
    }

    /// Returns up to `most` matching events.
    private func part(after start: OutboxCursor, _ most: Int) async throws -> OutboxPage {
        let readLimit = seesAllAccounts ? limit : Self.examinedMax
        // A single partition may be at its start because it had no entries yet, so all are checked.
        let isBeginning = start.positions.allSatisfy { $0 == .start }
        var cursor = start
        var hasGap = false
        var hasMore = false
        // The position up to which the merge is complete. Entries after the last one read of a partition with more must
        // wait.
        var horizon: OutboxPosition?
        var found: [(position: OutboxPosition, entry: OutboxEntry)] = []
        for (partition, bounds) in try await outbox.bounds().enumerated() {
            let newest = OutboxPosition(bounds.newest) ?? .start
            let trimmed = OutboxPosition(bounds.trimmed) ?? .start
            if outbox.isUntouched(partition, newest: newest) {
                cursor.positions[partition] = .start
            } else if cursor.positions[partition] > newest {
                // The store lost its last writes, or is another one: start again.
                cursor.positions[partition] = .start
                hasGap = true
            }
            if cursor.positions[partition] < trimmed {
                // A client that starts at the beginning requested the stored events, and misses none.
                hasGap = hasGap || !isBeginning
                cursor.positions[partition] = trimmed
            }
            guard newest > cursor.positions[partition] else { continue }
            let entries = try await outbox.entries(
                partition: partition,
                after: cursor.positions[partition].description,
                limit: readLimit
            )
            for entry in entries {
                guard let position = OutboxPosition(entry.id) else {
                    throw StoreError.corrupt("an outbox entry has the id \(entry.id)")
                }
                found.append((position, entry))
            }
            if entries.count == readLimit, let last = found.last?.position {
                hasMore = true
                horizon = horizon.map { min($0, last) } ?? last
            }
        }
        found.sort { ($0.position, $0.entry.partition) < ($1.position, $1.entry.partition) }
        if seesAllAccounts {
            hasMore = hasMore || found.count > limit
            found = Array(found.prefix(limit))
        } else if let horizon {
            found.removeAll { $0.position > horizon }
        }
        var events: [PollerWatches.Event] = []
        var isCut = false
        for (position, entry) in found {
            if filter.matches(entry.event) {
                isCut = events.count == most
                if isCut { break }
                events.append(entry.event)
            }
            cursor.positions[entry.partition] = position
        }
        return OutboxPage(
            events: events,
            next: cursor,
            hasMore: hasMore || isCut,
            hasGap: hasGap,
            isCut: isCut,
            examined: found.count
        )
    }
}

/// A page of all recorded events, merged over the partitions by recording time.
///
/// Events of one source are in the order of `seq`. Across sources the order is approximately that of time: partitions
/// are separate streams, so an event may be recorded in one while another is read.
struct OutboxPage: Sendable {
    var events: [PollerWatches.Event] = []
    /// The start of the next page, always present for events recorded later.
    let next: OutboxCursor
    var hasMore = false
    /// Whether events after the cursor have been dropped, so that the client must read the watches again.
    var hasGap = false
    /// Whether a further matching event is known to follow.
    var isCut = false
    /// The number of entries examined.
    var examined = 0

    /// Whether a waiting request should return with this page.
    var isWorthReturning: Bool { !events.isEmpty || hasMore || hasGap }

    /// Returns the API representation of the page.
    func wire(_ cursors: any EventCursors, for caller: Caller) -> Page<RawJSON> {
        var page = Page(events.map { RawJSON(unchecked: $0.json) })
        page.hasMore = hasMore
        page.next = cursors.text(after: next.positions, accounts: caller.accounts)
        page.hasGap = hasGap
        return page
    }
}
