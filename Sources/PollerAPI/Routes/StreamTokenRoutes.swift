import Hummingbird
import Poller

/// Short-lived tokens for the live gateway: a service with a key has them made and hands them to
/// its customers' browsers, where a key must never be.
///
/// It cannot be revoked, which is why it is short. *Limits*: an hour; 20 sources and 20 types.
struct StreamTokenRoutes {
    private static let issue = Route(
        .post,
        "/v1/stream_tokens",
        "createStreamToken",
        "Make a short-lived token for the live gateway",
        """
        For a customer's browser, where an API key must never be. It cannot be revoked; it ends by \
        itself.
        """,
        repeats: .byNature,
        body: .json(.shape("NewStreamToken")),
        answers: [.json(201, "The token; shown only here.", "StreamToken")],
        problems: [404],
        usesStore: false
    )

    let issuer: (any StreamTokenIssuer)?
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [Self.issue.answered(by: issue)]
    }

    /// Sent again it makes another token, which does no harm.
    @Sendable
    private func issue(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wanted = try StreamTokenRequest(json: await reader.json(request))
        guard let issuer else {
            throw Problem(.notFound, "This server knows no live gateway to make tokens for.")
        }
        let token = try await issuer.issue(wanted.grant(), lifetime: wanted.ttl)
        var json = JSONObject()
        json.add("token", token.reveal)
        json.add("expires_at", token.expiresAt.description)
        return Response(json: json.text, status: .created)
    }
}

/// What `POST /v1/stream_tokens` asks for.
///
/// *Shape*: `{"account":"default","sources":["src_…"],"types":["source.*"],"view":"public",
/// "ttl":"10m"}`, each optional; what is absent does not narrow the token.
struct StreamTokenRequest: Hashable, Sendable {
    /// As long as customers stay on a page; who stays longer asks for another.
    private static let ttlStandard = Duration.seconds(600)

    private static let fields = ["account", "sources", "types", "view", "ttl"]

    private let account: AccountID
    private let sources: [String]?
    private let types: [String]?
    private let view: EventView
    /// How long it lives.
    let ttl: Duration

    /// Checks a request.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(json: JSONValue) throws(Problem) {
        let body = try RequestFields(
            json,
            of: "a token",
            such: #"{"sources":["src_…"]}"#,
            known: Self.fields
        )
        let named = try body.string("account")
        account = try Problem.checked { () throws(InvalidInput) in
            try named.map { text throws(InvalidInput) in try AccountID(text) } ?? .main
        }
        // An empty list would be a token for nothing: a request with one is a mistake.
        sources = body.isGiven("sources") ? try body.strings("sources") : nil
        types = body.isGiven("types") ? try body.strings("types") : nil
        guard let view = EventView(rawValue: try body.string("view") ?? "public") else {
            throw Problem(.invalidValue, "view must be public or full.", field: "view")
        }
        self.view = view
        ttl = try body.duration("ttl") ?? Self.ttlStandard
        guard (.seconds(1)...StreamGrant.lifetimeMax).contains(ttl) else {
            throw Problem(.invalidValue, "ttl must be 1s to 1h.", field: "ttl")
        }
    }

    /// What the token lets its holder hear.
    ///
    /// Errors: ``InvalidInput`` for sources and types that are too many or malformed.
    func grant() throws(InvalidInput) -> StreamGrant {
        try StreamGrant(account: account, sources: sources, types: types, view: view)
    }
}
