import Hummingbird
import Poller
import Synchronization

/// What was recorded: of one watch by seq, of all by a cursor.
struct EventRoutes {
    let backend: APIBackend
    let polls: LongPolls

    func add(to router: Router<APIContext>) {
        router.add(.watchEvents, watchEvents)
        router.add(.events, events)
    }

    @Sendable
    private func watchEvents(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(
            request,
            allowed: ["account", "kind", "after_seq", "limit"]
        )
        let key = try context.watchKey(query)
        let afterSeq = try query.integer("after_seq", in: 0...Int.max) ?? 0
        let limit = try query.integer("limit", in: 1...100) ?? 100
        let events = try await backend.watches.events(of: key, after: afterSeq, limit: limit + 1)
        if events.isEmpty, try await backend.watches.snapshot(of: key) == nil {
            throw Problem.watchNotFound(key)
        }
        let page = events.prefix(limit)
        let hasMore = events.count > limit
        var json = JSONObject()
        json.add("data", raw: JSONObject.array(page.map(\.json)))
        json.add("has_more", hasMore)
        json.add("next", orNull: hasMore ? page.last.map { String($0.seq) } : nil)
        json.add("gap", page.first.map { $0.seq - 1 > afterSeq } ?? false)
        return Response(json: json.text)
    }

    @Sendable
    private func events(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(
            request,
            allowed: ["cursor", "from", "limit", "wait", "source", "account", "types"]
        )
        let limit = try query.integer("limit", in: 1...500) ?? 100
        let wait = try query.wait()
        let filter = try EventFilter(query)
        let start = try await start(query)
        let reader = OutboxReading(outbox: backend.outbox, limit: limit, filter: filter)
        let position = Mutex(start)
        let page = try await polls.first(within: wait, for: context.waiter) { entry in
            filter.matches(entry.event)
        } read: { () async throws -> OutboxPage? in
            let page = try await reader.page(after: position.withLock { $0 })
            // Entries that the filter hides need not be looked at again.
            position.withLock { $0 = page.next }
            return page.isWorthTelling ? page : nil
        }
        guard let page else {
            return Response(json: OutboxPage(next: position.withLock { $0 }).json(backend.cursors))
        }
        return Response(json: page.json(backend.cursors))
    }

    /// Where the request begins: `cursor`, or `from` (`oldest`, `now`, or a time).
    private func start(_ query: QueryParameters) async throws -> OutboxCursor {
        let partitions = backend.outbox.partitions
        if let text = query.text("cursor") {
            guard query.text("from") == nil else {
                throw Problem(
                    .invalidParameter,
                    "cursor and from exclude each other; leave one out.",
                    field: "from"
                )
            }
            let entries = backend.cursors.entries(of: text, partitions: partitions, account: nil)
            guard let entries else {
                throw Problem(
                    .invalidParameter,
                    "cursor is not one of ours: use next of the page before, unchanged.",
                    field: "cursor"
                )
            }
            return OutboxCursor(positions: entries.map { OutboxCursor.Position($0) ?? .start })
        }
        switch query.text("from") ?? "oldest" {
        case "oldest":
            return OutboxCursor(positions: Array(repeating: .start, count: partitions))
        case "now":
            let bounds = try await backend.outbox.bounds()
            return OutboxCursor(
                positions: bounds.map { OutboxCursor.Position($0.newest) ?? .start }
            )
        case let text:
            guard let time = Timestamp(rfc3339: text), time.ms > 0 else {
                throw Problem(
                    .invalidParameter,
                    "from must be oldest, now, or a time such as 2026-11-20T09:30:00.125Z.",
                    field: "from"
                )
            }
            return try await start(at: UInt64(time.ms))
        }
    }

    /// Positions right before what was recorded at `ms`, never beyond the newest.
    private func start(at ms: UInt64) async throws -> OutboxCursor {
        // Redis numbers the entries of one ms from 0, so this is behind all of the ms before.
        let before = OutboxCursor.Position(ms: ms - 1, n: UInt64(UInt32.max))
        let bounds = try await backend.outbox.bounds()
        return OutboxCursor(
            positions: bounds.map { bounds in
                let trimmed = OutboxCursor.Position(bounds.trimmed) ?? .start
                let newest = OutboxCursor.Position(bounds.newest) ?? .start
                return min(max(before, trimmed), newest)
            }
        )
    }
}

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

/// A page of all recorded events, merged over the partitions by the time they were recorded.
///
/// Order is that of `seq` within a source, and roughly that of time across sources: partitions
/// are separate streams, so an event may be recorded in one while another is read.
struct OutboxPage: Sendable {
    let events: [Event]
    /// Where the next page begins; there always is one, for what will be recorded.
    let next: OutboxCursor
    let hasMore: Bool
    /// Some events after the cursor are no longer kept: read the watches anew.
    let hasGap: Bool

    /// Puts a page together; an empty one by default.
    init(
        events: [Event] = [],
        next: OutboxCursor,
        hasMore: Bool = false,
        hasGap: Bool = false
    ) {
        self.events = events
        self.next = next
        self.hasMore = hasMore
        self.hasGap = hasGap
    }

    /// Whether somebody who waits wants to be answered with it.
    var isWorthTelling: Bool { !events.isEmpty || hasMore || hasGap }

    /// The page on the wire.
    func json(_ cursors: any EventCursors) -> String {
        var json = JSONObject()
        json.add("data", raw: JSONObject.array(events.map(\.json)))
        json.add("has_more", hasMore)
        let entries = next.positions.map(\.description)
        json.add("next", cursors.text(after: entries, account: nil))
        json.add("gap", hasGap)
        return json.text
    }
}
