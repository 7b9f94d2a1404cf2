import Hummingbird
import Poller

/// Many watches in one request.
struct BatchRoutes {
    /// Watches handed to the store at a time, so that other requests get their turn between.
    private static let chunk = 1000
    private static let lineTypes = ["application/x-ndjson", "application/jsonl"]

    let enqueuer: Enqueuer
    let locator: (any SourceLocator)?
    let reader: BodyReader

    func add(to router: Router<APIContext>) {
        router.add(.enqueueBatch, enqueue)
    }

    /// Checks everything first.
    ///
    /// When the store fails midway some are enqueued, and the client is told to send the batch
    /// again: those are joined then.
    @Sendable
    private func enqueue(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        try BodyReader.checkType(request, allowed: ["application/json"] + Self.lineTypes)
        let bytes = try await reader.read(request, bytesMax: BodyReader.batchBytesMax)
        let type = request.headers[.contentType]?.lowercased() ?? ""
        let isLines = Self.lineTypes.contains { type.hasPrefix($0) }
        let batch = try WatchBatch(bytes, isLines: isLines, locator: locator)

        var results: [EnqueueResult] = []
        for group in batch.groups {
            for start in stride(from: 0, to: group.count, by: Self.chunk) {
                let end = min(start + Self.chunk, group.count)
                results += try await enqueuer.enqueue(Array(group[start..<end]))
            }
        }
        var json = JSONObject()
        for outcome in [EnqueueResult.Outcome.created, .restarted, .joined] {
            json.add(outcome.rawValue, results.count { $0.outcome == outcome })
        }
        json.add("duplicates", batch.duplicates)
        json.add("data", raw: JSONObject.array(results.map(\.json)))
        return Response(json: json.text)
    }
}
