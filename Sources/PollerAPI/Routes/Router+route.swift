import Hummingbird

extension Router<APIContext> {
    /// Adds a route with what answers it.
    func add(
        _ route: Route,
        _ answer: @escaping @Sendable (Request, APIContext) async throws -> Response
    ) {
        for path in route.paths { on(RouterPath(path), method: route.method, use: answer) }
    }
}
