import HTTPTypes
import Hummingbird
import PollerNet

/// Checks that a request may use the matched route; see ``RouteAccess``.
///
/// What decides is the route that the router has found, never the text of the path: of that one
/// route has many spellings. Where the router has found none, a key is wanted as well, so that a
/// route which nobody has thought of here is closed.
///
/// Without keys a page in the user's browser must still not reach the API: it could rebind its name
/// to 127.0.0.1 (so the host asked for must be local) or send a simple cross-site request (so must
/// be the Origin, when there is one). Nor must the world, through a proxy on this machine. Forms of pages
/// for payers have the Origin `null`, because these pages tell nobody where they are: it is taken where the
/// request needs a secret of the payer's own, which another site's page cannot bring along.
struct KeyMiddleware: RouterMiddleware {
    let keys: APIKeys
    let table: RouteTable

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        switch table.matched(context.endpointPath, request.method)?.access ?? .key {
        case .signed: break
        case .key where keys.isEmpty: try checkLocal(request)
        case .anybody where keys.isEmpty: try checkLocal(request, takesNoOrigin: true)
        case .key: context.key = try key(request)
        case .anybody: break
        }
        return try await next(request, context)
    }

    /// The name of the key that the request shows.
    private func key(_ request: Request) throws(Problem) -> String {
        guard let header = request.headers[.authorization] else {
            throw Problem(
                .unauthenticated,
                "Send Authorization: Bearer KEY with a key from the server's POLLER_API_KEYS_FILE."
            )
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer", let key = keys.name(of: parts[1])
        else {
            throw Problem(
                .unauthenticated,
                "The key is not one of the server's POLLER_API_KEYS_FILE."
            )
        }
        return key
    }

    private func checkLocal(
        _ request: Request,
        takesNoOrigin: Bool = false
    ) throws(Problem) {
        // An Origin is `scheme://host:port`, or `null`, which is not local either.
        let told = request.headers[values: .origin].filter { !takesNoOrigin || $0 != "null" }
        let origins = told.map { origin in
            origin.firstIndex(of: "/").map { String(origin[$0...].drop { $0 == "/" }) } ?? origin
        }
        let asked =
            [request.head.authority].compactMap(\.self) + request.headers[values: .otherHost]
        let isLocal =
            !asked.isEmpty
            && LocalRequest.isLocal(
                hosts: asked + origins,
                headers: request.headers.map(\.name.canonicalName)
            )
        guard isLocal else {
            throw Problem(
                .notLocal,
                "This server has no API keys and serves only http://127.0.0.1 and localhost, and "
                    + "nothing that a proxy has passed on; to serve others, start it with "
                    + "POLLER_API_KEYS_FILE."
            )
        }
    }
}
