import Hummingbird

/// Keeps brief requests on the event loop of their connection, and moves all others to Swift's own pool.
///
/// A request in the pool costs several thread changes: to read it, for each reply of the store, and to write its
/// response. A request that computes for long, such as a batch or a list, would delay all connections of its loop. So
/// only routes that declare it (``Route/brief``) stay there. Without executors of loops, everything runs in the pool.
struct LoopMiddleware: RouterMiddleware {
    let table: RouteTable

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        if table.matched(context.endpointPath, request.method)?.isBrief ?? false {
            return try await next(request, context)
        }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await next(request, context)
        }
    }
}
