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
