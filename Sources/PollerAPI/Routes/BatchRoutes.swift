import Hummingbird
import Poller
import PollerIdentity
import PollerOperations
import PollerWatches
import PollerWire

/// Many watches in one request.
///
/// All items are checked before any is enqueued, so that a client need not find out which half of a batch was accepted.
/// The store takes up to 256 watches of a partition in one call. There is no transaction over all of them, which would
/// block every other request for its duration. A repeated batch joins the watches of the first attempt. The response to
/// a large batch is not stored (``IdempotencyMiddleware``), and its repeat joins in the same way.
struct BatchRoutes {
    private static let lineTypes = ["application/x-ndjson", "application/jsonl"]

    private static let enqueue = Route(
        .post,
        "/v1/watches/batch",
        "enqueueBatch",
        "Watch up to 10,000 sources; all items are checked before any is enqueued",
        """
        A response of more than 128 KiB, about a thousand sources, is not stored for a repeat with the same \
        Idempotency-Key. The repeat is executed again and joins the open watches.
        """,
        access: .key(.writeWatches),
        input: .traceparent,
        idempotency: .kept(whenFull: false),
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
                    ["type": "string", "description": "One NewWatch per line."]
                ),
            ],
            description: "At most 8 MiB.",
            aliases: ["application/jsonl"],
            bytesMax: BodyReader.batchBytesMax
        ),
        answers: [
            .ok(
                "The sources are watched. Equal items count once, and a `refused` item "
                    + "had no effect.",
                "BatchResult"
            )
        ],
        problems: [409],
        audit: .traffic("shops watch each payment; its events record the changes")
    )

    let enqueuer: Enqueuer
    let openWatches: OpenWatchLimit
    let locator: (any SourceLocator)?
    let endpoints: EndpointBackend
    let reader: BodyReader
    let tracing: EnqueueTracing

    var routes: [AnsweredRoute] { [Self.enqueue.answered(by: enqueue)] }

    /// Checks all items first, then enqueues them.
    ///
    /// If the store fails midway, some items are enqueued. The error tells the client to repeat the batch, which joins
    /// them.
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

        batch.setTrace(trace)
        facts.add("poller.watches", batch.groups.reduce(0) { $0 + $1.count })
        let watches = batch.groups.flatMap(\.self)
        try refuseMismatches(among: watches)
        // A partly accepted batch would leave the client to find out which items were enqueued.
        if let refusal = try await openWatches.refusal(of: watches) { throw Problem(refusal) }
        let results = try await enqueuer.enqueue(watches)
        for (new, result) in zip(watches, results) {
            // A watch that has reached its URL limit is reported among the results.
            guard case .refused(.otherOrder) = result.outcome else { continue }
            if let problem = Problem(result, of: new) { throw problem }
        }
        var answer = BatchResult()
        answer.created = results.count { $0.outcome == .created }
        answer.restarted = results.count { $0.outcome == .restarted }
        answer.joined = results.count { $0.outcome == .joined }
        answer.duplicates = batch.duplicates
        // Only the kind of a newly enqueued source is known.
        answer.deprecation = results.contains { $0.key.kind == .source } ? .ofSource(nil) : nil
        answer.results = results.map { BatchResult.Result($0) }
        return Response(answer)
    }

    /// Rejects the whole batch if two items name different orders for one source.
    ///
    /// The store compares each item with the open watch of its source (``WatchStore/enqueue(_:reading:)``).
    private func refuseMismatches(among watches: [NewWatch]) throws(Problem) {
        var orders: [WatchKey: OrderID] = [:]
        for new in watches {
            guard let order = new.order else { continue }
            if let held = orders.updateValue(order, forKey: new.key), held != order {
                throw Problem.orderMismatch(new.key, held: held, named: order)
            }
        }
    }
}
