import Hummingbird
import JSONText
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWatches
import PollerWire
import Synchronization

/// The recorded events: of one watch by `seq`, of all watches by cursor.
struct EventRoutes {
    private static let ofWatch = Route(
        .get,
        "/v1/watches/{source}/events",
        "watchEvents",
        "List the recorded events of one watch, by seq; the last 100 are kept",
        access: .key(.readWatches),
        input: .all(
            .watch,
            .integer(
                "after_seq",
                "Events after this seq; next of the previous page.",
                in: 0...Int.max,
                standard: 0
            ),
            .limit("Events per page.", 100, most: 100)
        ) { (key: $0, afterSeq: $1, limit: $2) },
        answers: [.ok("A page of events.", "EventPage")],
        problems: [404]
    )
    private static let all = Route(
        .get,
        "/v1/events",
        "events",
        "List all recorded events, ordered by seq within a source",
        access: .key(.readEvents),
        input: .all(.start, .limit("Events read per page.", 100), .wait(), .events) {
            (start: $0, limit: $1, wait: $2, filter: $3)
        },
        answers: [
            .ok(
                """
                A page. next is always present, for later events. The page may be empty although has_more is true.
                """,
                "EventPage"
            )
        ]
    )

    let backend: APIBackend
    let polls: LongPolls
    let scans: Scans

    var routes: [AnsweredRoute] {
        [Self.ofWatch.answered(by: watchEvents), Self.all.answered(by: events)]
    }

    private func watchEvents(
        _ input: (key: WatchKey, afterSeq: Int, limit: Int),
        _ context: APIContext
    ) async throws -> Response {
        let (key, afterSeq, limit) = input
        let events = try await backend.watches.events(of: key, after: afterSeq, limit: limit + 1)
        if events.isEmpty, try await backend.watches.snapshot(of: key) == nil {
            throw Problem.watchNotFound(key)
        }
        return Response(Page(of: events, limit: limit, after: afterSeq))
    }

    private func events(
        _ input: (start: EventsStart, limit: Int, wait: Duration, filter: EventFilter),
        _ context: APIContext
    ) async throws -> Response {
        let filter = input.filter
        let start = try await cursor(input.start, context.caller)
        let reader = OutboxReading(
            outbox: backend.outbox,
            limit: input.limit,
            filter: filter,
            seesAllAccounts: context.caller.accounts.isAll
        )
        let position = Mutex(start)
        let page = try await polls.first(
            within: input.wait,
            for: context.waiter,
            matching: filter.interest
        ) { () async throws -> OutboxPage? in
            let start = position.withLock { $0 }
            let page = try await scans.passing(for: context.caller) {
                let page = try await reader.page(after: start)
                return (page, page.examined)
            }
            // Entries that the filter excludes are not read again.
            position.withLock { $0 = page.next }
            return page.isWorthReturning ? page : nil
        }
        guard let page else {
            let rest = OutboxPage(next: position.withLock { $0 })
            return Response(rest.wire(backend.cursors, for: context.caller))
        }
        return Response(page.wire(backend.cursors, for: context.caller))
    }

    private func cursor(
        _ start: EventsStart,
        _ caller: Caller
    ) async throws -> OutboxCursor {
        let partitions = backend.outbox.partitions
        switch start {
        case .cursor(let text):
            let positions = backend.cursors.positions(
                of: text,
                partitions: partitions,
                accounts: caller.accounts
            )
            guard let positions else { throw Problem.invalidCursor }
            return OutboxCursor(positions: positions)
        case .oldest:
            return OutboxCursor(positions: Array(repeating: .start, count: partitions))
        case .now:
            let bounds = try await backend.outbox.bounds()
            return OutboxCursor(
                positions: bounds.map { OutboxPosition($0.newest) ?? .start }
            )
        case .time(let ms): return try await cursor(at: ms)
        }
    }

    /// Returns the positions directly before the entries recorded at `ms`, never beyond the newest.
    private func cursor(at ms: UInt64) async throws -> OutboxCursor {
        // Redis numbers the entries of one millisecond from 0, so this is after all of the previous millisecond.
        let before = OutboxPosition(ms: ms - 1, n: UInt64(truncatingIfNeeded: UInt32.max))
        let bounds = try await backend.outbox.bounds()
        return OutboxCursor(
            positions: bounds.map { bounds in
                let trimmed = OutboxPosition(bounds.trimmed) ?? .start
                let newest = OutboxPosition(bounds.newest) ?? .start
                return min(max(before, trimmed), newest)
            }
        )
    }
}

extension Page<RawJSON> {
    /// Creates a page of one log after a `seq`, from a read of one event more than `limit`.
    init(of events: [PollerWatches.Event], limit: Int, after seq: Int) {
        let page = events.prefix(limit)
        self.init(page.map { RawJSON(unchecked: $0.json) })
        hasMore = events.count > limit
        next = hasMore ? page.last.map { String($0.seq) } : nil
        hasGap = page.first.map { $0.seq - 1 > seq } ?? false
    }
}

/// The start of a list of all events.
enum EventsStart: Sendable {
    /// After the events of an earlier page.
    case cursor(String)
    case oldest
    case now
    /// From this recording time on, in ms.
    case time(UInt64)
}

extension SchemaNode {
    fileprivate static let outboxCursor: Self = [
        "type": "string", "maxLength": 4096, "minLength": 1,
    ]

    fileprivate static let outboxStart: Self = [
        "type": "string", "examples": ["oldest", "now", "2026-11-20T09:30:00.125Z"],
        "pattern": """
        ^(oldest|now|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z)$
        """,
    ]
}

extension RouteInput where Value == EventsStart {
    /// The parameter `cursor`, or `from` (`oldest`, `now`, or a time).
    fileprivate static var start: Self {
        .all(
            // Already encrypted, because the live gateway uses the same cursors.
            RouteInput<String?>.text("cursor", "next of the previous page.", .outboxCursor),
            .text(
                "from",
                "The start without a cursor: oldest (the default), now, or a time.",
                .outboxStart
            )
        ) { cursor, from throws(Problem) in
            if let cursor {
                guard from == nil else {
                    throw Problem(
                        .invalidParameter,
                        "cursor and from exclude each other; leave one out.",
                        field: "from"
                    )
                }
                return .cursor(cursor)
            }
            switch from ?? "oldest" {
            case "oldest": return .oldest
            case "now": return .now
            case let text:
                guard let time = Timestamp(rfc3339: text), time.ms > 0 else {
                    throw Problem.parameter(
                        "from",
                        "must be oldest, now, or a time such as 2026-11-20T09:30:00.125Z."
                    )
                }
                return .time(UInt64(clamping: time.ms))
            }
        }
    }
}
