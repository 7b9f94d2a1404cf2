import Hummingbird
import Poller
import PollerWire

/// Many watches in one request.
///
/// All are checked before any is enqueued, since half a batch would leave the client to find out which
/// half. The store takes them in groups, without a transaction over all: that would stop every other
/// request for as long, and a batch that is sent again joins what the first try has enqueued. The answer to
/// a large one is not kept (``RepeatMiddleware``): its repeat joins likewise.
struct BatchRoutes {
    /// Watches handed to the store at a time, so that other requests get their turn between.
    private static let chunk = 1000
    private static let lineTypes = ["application/x-ndjson", "application/jsonl"]

    private static let enqueue = Route(
        .post,
        "/v1/watches/batch",
        "enqueueBatch",
        "Watch up to 10,000 sources; all items are checked before any is enqueued",
        """
        An answer of more than 128 KiB, of more than a thousand sources or so, is not kept for a repeat with \
        the same Idempotency-Key: that is carried out again, and joins what is watched.
        """,
        access: .key(.writeWatches),
        input: .traceparent,
        repeats: .kept(whenFull: false),
        body: RouteBody(
            content: [
                (
                    "application/json",
                    [
                        "type": "array", "minItems": 1, "maxItems": 10000,
                        "items": .shape("NewWatch"),
                    ]
                ),
                (
                    "application/x-ndjson",
                    ["type": "string", "description": "One NewWatch a line."]
                ),
            ],
            description: "At most 8 MiB.",
            aliases: ["application/jsonl"],
            bytesMax: BodyReader.batchBytesMax
        ),
        answers: [
            .ok(
                "Everything is watched; equal items count once, and of one that is `refused` nothing was taken.",
                "BatchResult"
            )
        ],
        problems: [409],
        audit: .traffic("shops watch each payment; what became of it is in its own events")
    )

    let watches: any WatchStore
    let enqueuer: Enqueuer
    let openWatches: OpenWatchLimit
    let locator: (any SourceLocator)?
    let endpoints: EndpointBackend
    let reader: BodyReader
    let tracing: EnqueueTracing

    var routes: [AnsweredRoute] { [Self.enqueue.answered(by: enqueue)] }

    /// Checks everything first.
    ///
    /// When the store fails midway some are enqueued, and the client is told to send the batch
    /// again: those are joined then.
    @Sendable
    private func enqueue(
        _ caller: TraceContext?,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        try await tracing.span(of: Self.enqueue.description, under: caller) { trace, facts in
            try await enqueue(request, context, in: trace, &facts)
        }
    }

    private func enqueue(
        _ request: Request,
        _ context: APIContext,
        in trace: TraceContext?,
        _ facts: inout SpanFacts
    ) async throws -> Response {
        let bytes = try await reader.read(request, bytesMax: BodyReader.batchBytesMax)
        let type = request.headers[.contentType]?.lowercased() ?? ""
        let isLines = Self.lineTypes.contains { type.hasPrefix($0) }
        var batch = try WatchBatch(
            bytes,
            isLines: isLines,
            for: context.caller,
            locator: locator,
            endpoints: endpoints
        )

        batch.carry(trace)
        facts.add("poller.watches", batch.groups.reduce(0) { $0 + $1.count })
        try await refuseMismatches(in: batch)
        // Half of a batch would leave the client to find out which half.
        if let refusal = try await openWatches.refusal(of: batch.groups.flatMap(\.self)) {
            throw Problem(refusal)
        }
        var results: [EnqueueResult] = []
        for group in batch.groups {
            for start in stride(from: 0, to: group.count, by: Self.chunk) {
                let end = min(start + Self.chunk, group.count)
                results += try await enqueuer.enqueue(Array(group[start..<end]))
            }
        }
        var answer = BatchResult()
        answer.created = results.count { $0.outcome == .created }
        answer.restarted = results.count { $0.outcome == .restarted }
        answer.joined = results.count { $0.outcome == .joined }
        answer.duplicates = batch.duplicates
        // Of what was just enqueued only the kind is known.
        answer.deprecation = results.contains { $0.key.kind == .source } ? .ofSource(nil) : nil
        answer.results = results.map { BatchResult.Result($0) }
        return Response(answer)
    }

    /// Refuses the whole when an item names another order than the open watch of its source, or than an
    /// item before it.
    private func refuseMismatches(in batch: WatchBatch) async throws {
        var ordered: [WatchKey: NewWatch] = [:]
        for new in batch.groups.joined() {
            guard let order = new.order else { continue }
            if let held = ordered.updateValue(new, forKey: new.key)?.order, held != order {
                throw Problem.orderMismatch(new.key, held: held, named: order)
            }
        }
        let asked = Array(ordered.values)
        for start in stride(from: 0, to: asked.count, by: Self.chunk) {
            // Read together: one after the other a long batch would wait for each answer.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for new in asked[start..<min(start + Self.chunk, asked.count)] {
                    group.addTask { try await watches.refuseMismatch(of: new) }
                }
                try await group.waitForAll()
            }
        }
    }
}
