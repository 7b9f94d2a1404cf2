import HTTPTypes
import Hummingbird

/// Lets in who shows a key; without any keys, whoever is on this machine.
///
/// Without keys a page in the user's browser must still not reach the API: it could rebind its
/// name to 127.0.0.1 (so Host must be loopback) or send a simple cross-site request (so Origin,
/// when there is one, must be loopback too).
struct KeyMiddleware: RouterMiddleware {
    let keys: APIKeys

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        if request.uri.path.hasPrefix(StripeWebhookRoutes.pathPrefix) {
            // Stripe has no key of ours and calls us by a public name; it signs what it sends.
        } else if keys.isEmpty {
            try checkLocal(request)
        } else if request.uri.path.hasPrefix("/v1") {
            try checkKey(request)
        }
        return try await next(request, context)
    }

    private func checkKey(_ request: Request) throws(Problem) {
        guard let header = request.headers[.authorization] else {
            throw Problem(
                .unauthenticated,
                "Send Authorization: Bearer KEY with a key from the server's POLLER_API_KEYS_FILE."
            )
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer", keys.verify(parts[1]) else {
            throw Problem(
                .unauthenticated,
                "The key is not one of the server's POLLER_API_KEYS_FILE."
            )
        }
    }

    private func checkLocal(_ request: Request) throws(Problem) {
        // `scheme://host:port`, or `null`, which is no loopback either.
        let origin = request.headers[.origin].map { origin in
            origin.firstIndex(of: "/").map { origin[$0...].drop { $0 == "/" } } ?? origin[...]
        }
        for authority in [request.head.authority.map { $0[...] }, origin].compactMap(\.self)
        where !ListenAddress.isLoopback(host: Self.host(of: authority)) {
            throw Problem(
                .notLocal,
                "This server has no API keys and serves only http://127.0.0.1 and localhost; "
                    + "to serve others, start it with POLLER_API_KEYS_FILE."
            )
        }
    }

    private static func host(of authority: Substring) -> Substring {
        if authority.hasPrefix("[") {
            return authority.dropFirst().prefix { $0 != "]" }
        }
        return authority.prefix { $0 != ":" }
    }
}
