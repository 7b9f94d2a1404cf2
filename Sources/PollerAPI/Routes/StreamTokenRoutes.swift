import Hummingbird
import Poller

/// Short-lived tokens for the live gateway: a service with a key has them made and hands them to
/// its customers' browsers, where a key must never be.
struct StreamTokenRoutes {
    let issuer: (any StreamTokenIssuing)?
    let reader: BodyReader

    func add(to router: Router<APIContext>) {
        router.add(.streamToken, issue)
    }

    /// Sent again it makes another token, which does no harm.
    @Sendable
    private func issue(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        try BodyReader.checkType(request, allowed: ["application/json"])
        let wanted = try StreamTokenRequest(json: await reader.json(request))
        guard let issuer else {
            throw Problem(.notFound, "This server knows no live gateway to make tokens for.")
        }
        let token = try await issuer.issue(wanted)
        var json = JSONObject()
        json.add("token", token.reveal)
        json.add("expires_at", token.expiresAt.description)
        return Response(json: json.text, status: .created)
    }
}
