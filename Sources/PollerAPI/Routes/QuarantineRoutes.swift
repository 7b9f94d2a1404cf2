import Hummingbird
import Poller

/// Watches that a person must look at, and why a watch waits.
struct QuarantineRoutes {
    let backend: APIBackend
    let statusCache: ClusterStatusCache

    func add(to router: Router<APIContext>) {
        router.add(.listQuarantine, list)
        router.add(.redrive, redrive)
        router.add(.explainWatch, explain)
    }

    /// In the order in which they were closed.
    @Sendable
    private func list(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(
            request,
            allowed: ["status", "account", "kind", "limit", "cursor"]
        )
        let page = try await backend.watches.list(try ListQuery(query, state: .quarantined))
        return Response(json: page.json { $0.json() })
    }

    /// Redriving what is open already succeeds: the answer to the first try got lost.
    @Sendable
    private func redrive(_ request: Request, _ context: APIContext) async throws -> Response {
        let key = try context.watchKey(try QueryParameters(request, allowed: ["account", "kind"]))
        try BodyReader.checkIdempotencyKey(request)
        let wasDead = try await backend.watches.redrive(key)
        guard let snapshot = try await backend.watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasDead || snapshot.closed == nil else {
            throw Problem(
                .watchNotQuarantined,
                "The watch of \(key.source) is closed (\(snapshot.closed?.rawValue ?? "just now")) "
                    + "and not in quarantine; enqueue it again to watch on."
            )
        }
        await statusCache.forget()
        return Response(json: snapshot.json())
    }

    @Sendable
    private func explain(_ request: Request, _ context: APIContext) async throws -> Response {
        let key = try context.watchKey(try QueryParameters(request, allowed: ["account", "kind"]))
        let explanation = try await backend.watches.explain(key, limit: backend.laneLimit)
        guard let explanation else { throw Problem.watchNotFound(key) }
        return Response(json: explanation.json(standard: backend.laneLimit))
    }
}
