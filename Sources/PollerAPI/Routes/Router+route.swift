import Hummingbird

extension Router<APIContext> {
    /// Adds a route with what answers it.
    func add(
        _ route: Route,
        _ answer: @escaping @Sendable (Request, APIContext) async throws -> Response
    ) {
        on(RouterPath(route.path), method: route.method, use: answer)
    }
}
