import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWire

/// Short-lived tokens for the live gateway.
///
/// A service requests them with its key and passes them to its customers'
/// browsers, which must never have a key.
///
/// A token cannot be revoked, so its lifetime is short. *Limits*: an hour; 20 sources and 20 types.
struct StreamTokenRoutes {
    /// The default lifetime, as long as customers usually stay on a page.
    ///
    /// A longer visit needs another token.
    private static let lifetimeStandard = Duration.seconds(600)

    private static let issue = Route(
        .post,
        "/v1/stream_tokens",
        "createStreamToken",
        "Create a short-lived token for the live gateway",
        """
        For a customer's browser, which must never have an API key. The token cannot be revoked, and it expires. \
        In a URL it starts one connection within 30 s of its creation. A browser's EventSource may reconnect with \
        its last event ID until the token expires.
        """,
        access: .key(.issueTokens),
        idempotency: .inherent("an additional token does no harm, and tokens are not stored"),
        body: .json(.shape("NewStreamToken")),
        answers: [.json(201, "The token; shown only here.", "StreamToken")],
        problems: [404],
        audit: .traffic("one for each page that a customer opens; it expires"),
        usesStore: false
    )

    let issuer: (any StreamTokenIssuer)?
    let keys: KeyRing
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [Self.issue.answered(by: issue)]
    }

    /// Creates a token.
    ///
    /// A repeat creates another one, which is harmless.
    private func issue(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wanted = try await reader.object(StreamTokenRequest.self, of: request)
        let grant = try StreamGrant(wanted, for: context.caller)
        let lifetime = wanted.ttl?.duration ?? Self.lifetimeStandard
        guard (.seconds(1)...StreamGrant.lifetimeMax).contains(lifetime) else {
            throw Problem.value("ttl", "must be 1s to 1h.")
        }
        guard let issuer else {
            throw Problem(.notFound, "This server has no live gateway for tokens.")
        }
        // The token expires no later than the key that created it, with a minimum of one second.
        let left = context.caller.endsAt.map { max($0 - keys.now(), .seconds(1)) } ?? lifetime
        let token = try await issuer.issue(grant, lifetime: min(lifetime, left))
        var answer = PollerWire.StreamToken()
        answer.reveal = token.reveal
        answer.expiresAt = Time(token.expiresAt)
        return Response(answer, status: .created)
    }
}

extension StreamGrant {
    /// Creates the grant that a request asks for.
    ///
    /// Errors: a ``Problem`` that names the field.
    fileprivate init(_ request: StreamTokenRequest, for caller: Caller) throws(Problem) {
        guard let view = EventView(rawValue: request.view?.rawValue ?? "public") else {
            throw Problem.value("view", "must be public or full.")
        }
        let named = try Problem.checked { () throws(InvalidInput) in
            try request.account.map { text throws(InvalidInput) in try AccountID(text) }
        }
        let account = try caller.account(named: named)
        // An empty list would be a token without any events, which is always a mistake.
        self = try Problem.checked { () throws(InvalidInput) in
            try StreamGrant(
                account: account,
                sources: request.sources,
                types: request.types,
                view: view
            )
        }
    }
}
