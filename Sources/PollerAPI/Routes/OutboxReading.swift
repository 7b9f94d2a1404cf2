import JSONText
import Poller
import PollerIdentity
import PollerQueue
import PollerWire

/// Reads pages of the outbox for one request.
///
/// For who may see everything a page is a look at so many entries. For who may not it must tell nothing of
/// the others': it is read on until it is full and whether one more of theirs follows is known, so that
/// neither its length nor `has_more` nor the number of pages hangs on what lies between; up to a bound
/// (`roundsMax`), because what is passed is work.
struct OutboxReading: Sendable {
    /// Entries of a partition that are passed in one go.
    private static let passedMax = 250
    /// Times that this is done for one page: with sixteen partitions twenty thousand entries.
    private static let roundsMax = 5

    let outbox: any Outbox
    let limit: Int
    let filter: EventFilter
    /// Whether the reader may see everything.
    let isOfAll: Bool

    /// What follows a cursor.
    ///
    /// Who may see everything has at most `limit` entries looked at, so a page with a filter may be empty
    /// although there is more. Costs one look at the bounds and a read for each partition that has something.
    func page(after start: OutboxCursor) async throws -> OutboxPage {
        var page = OutboxPage(next: start, hasMore: true)
        for _ in 0..<(isOfAll ? 1 : Self.roundsMax) {
            let part = try await part(after: page.next, limit - page.events.count)
            page = OutboxPage(
                events: page.events + part.events,
                next: part.next,
                hasMore: part.hasMore,
                hasGap: page.hasGap || part.hasGap,
                passed: page.passed + part.passed
            )
            // A part that was cut has one more of theirs behind it.
            if part.isCut || !part.hasMore { break }
        }
        return page
    }

    /// At most so many events that pass.
    private func part(after start: OutboxCursor, _ most: Int) async throws -> OutboxPage {
        let looks = isOfAll ? limit : Self.passedMax
        // Of one partition alone it is where nothing had been recorded yet.
        let isBeginning = start.positions.allSatisfy { $0 == .start }
        var cursor = start
        var hasGap = false
        var hasMore = false
        // What stands behind the last entry of a partition that has more is not told before that is known.
        var horizon: OutboxPosition?
        var found: [(position: OutboxPosition, entry: OutboxEntry)] = []
        for (partition, bounds) in try await outbox.bounds().enumerated() {
            let newest = OutboxPosition(bounds.newest) ?? .start
            let trimmed = OutboxPosition(bounds.trimmed) ?? .start
            if outbox.isUntouched(partition, newest: newest) {
                cursor.positions[partition] = .start
            } else if cursor.positions[partition] > newest {
                // The store lost its last writes, or is another one: begin again.
                cursor.positions[partition] = .start
                hasGap = true
            }
            if cursor.positions[partition] < trimmed {
                // Who begins at the start asked for what is kept, and misses nothing.
                hasGap = hasGap || !isBeginning
                cursor.positions[partition] = trimmed
            }
            guard newest > cursor.positions[partition] else { continue }
            let entries = try await outbox.entries(
                partition: partition,
                after: cursor.positions[partition].description,
                limit: looks
            )
            for entry in entries {
                guard let position = OutboxPosition(entry.id) else {
                    throw StoreError.corrupt("an outbox entry has the id \(entry.id)")
                }
                found.append((position, entry))
            }
            if entries.count == looks, let last = found.last?.position {
                hasMore = true
                horizon = horizon.map { min($0, last) } ?? last
            }
        }
        found.sort { ($0.position, $0.entry.partition) < ($1.position, $1.entry.partition) }
        if isOfAll {
            hasMore = hasMore || found.count > limit
            found = Array(found.prefix(limit))
        } else if let horizon {
            found.removeAll { $0.position > horizon }
        }
        var events: [Poller.Event] = []
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
            passed: found.count
        )
    }
}

/// A page of all recorded events, merged over the partitions by the time they were recorded.
///
/// Order is that of `seq` within a source, and roughly that of time across sources: partitions
/// are separate streams, so an event may be recorded in one while another is read.
struct OutboxPage: Sendable {
    var events: [Poller.Event] = []
    /// Where the next page begins; there always is one, for what will be recorded.
    let next: OutboxCursor
    var hasMore = false
    /// Some events after the cursor are no longer kept: read the watches anew.
    var hasGap = false
    /// Whether it is known that an event follows which passes.
    var isCut = false
    /// Entries that were looked at for it.
    var passed = 0

    /// Whether somebody who waits wants to be answered with it.
    var isWorthTelling: Bool { !events.isEmpty || hasMore || hasGap }

    /// The page on the wire.
    func wire(_ cursors: any EventCursors, for caller: Caller) -> Page<RawJSON> {
        var page = Page(events.map { RawJSON(unchecked: $0.json) })
        page.hasMore = hasMore
        page.next = cursors.text(after: next.positions, accounts: caller.accounts)
        page.hasGap = hasGap
        return page
    }
}
