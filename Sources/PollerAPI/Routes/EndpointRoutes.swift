import Hummingbird
import Poller

/// The registered endpoints: create, list, read, change, remove.
struct EndpointRoutes {
    let backend: EndpointBackend
    /// Those of the deliveries.
    let lanes: any LaneControl
    let reader: BodyReader

    func add(to router: Router<APIContext>) {
        router.add(.createEndpoint, create)
        router.add(.listEndpoints, list)
        router.add(.getEndpoint, get)
        router.add(.changeEndpoint, change)
        router.add(.removeEndpoint, remove)
        router.add(.testEndpoint, test)
        router.add(.rotateEndpoint, rotate)
        router.add(.enableEndpoint, enable)
        router.add(.disableEndpoint, disable)
        router.add(.endpointSecret, secret)
    }

    /// With an `Idempotency-Key` a repeat answers what the first one made; its secret too, as
    /// long as nobody has changed the endpoint since.
    @Sendable
    private func create(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        try BodyReader.checkType(request, allowed: ["application/json"])
        let (json, bytes) = try await reader.jsonAndBytes(request)
        let fields = try EndpointFields(
            json: json,
            isNew: true,
            standardLimit: backend.standardLimit
        )
        let endpoint = try Self.endpoint(fields)
        try await checkFallback(endpoint)
        let key = request.headers[.idempotencyKey].map { key in
            EndpointRequest(account: endpoint.account, key: key, body: bytes)
        }
        switch try await stored(endpoint, key) {
        case .created(let created): return Self.shown(created, status: .created)
        case .repeated(let made, let isUntouched):
            return isUntouched
                ? Self.shown(made, status: .created)
                : Response(json: made.json(), status: .created)
        case .conflict:
            throw Problem(
                .idempotencyKeyReused,
                "This Idempotency-Key has made another endpoint, or one that is gone; "
                    + "use a new key for a new endpoint.",
                field: "Idempotency-Key"
            )
        case .tooMany:
            throw Problem(
                .tooManyEndpoints,
                "There are \(Endpoint.countMax) endpoints already; remove those nobody needs."
            )
        case .exists: throw StoreError.corrupt("a random id was given twice")
        }
    }

    /// Creates an endpoint; says so when nobody knows whether that has happened.
    private func stored(
        _ endpoint: Endpoint,
        _ key: EndpointRequest?
    ) async throws -> EndpointCreation {
        do {
            return try await backend.store.create(endpoint, request: key)
        } catch {
            guard key == nil, case .unavailable = error else { throw error }
            throw Problem(
                .storeUnavailable,
                "Whether the endpoint was made is not known: look at GET /v1/endpoints before you "
                    + "send this again, or send it with an Idempotency-Key, which makes that safe.",
                retryAfterSeconds: 1
            )
        }
    }

    private static func endpoint(_ fields: EndpointFields) throws(Problem) -> Endpoint {
        guard let url = try fields.url() else {
            throw Problem(
                .missingField,
                "url is required: https://…, mailto:name@host or redis+stream:NAME.",
                field: "url"
            )
        }
        var chance = SystemRandomNumberGenerator()
        var endpoint = Endpoint(
            id: EndpointID(using: &chance),
            account: try fields.account(),
            url: url,
            secrets: url.isWebhook ? [EndpointSecret(WebhookSecret(using: &chance))] : []
        )
        try fields.apply(to: &endpoint)
        return endpoint
    }

    /// The endpoint with its newest secret, which is told only here.
    static func shown(
        _ endpoint: Endpoint,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(json: endpoint.json(secret: endpoint.secrets.first?.secret), status: status)
    }

    @Sendable
    private func list(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(request, allowed: ["account", "limit", "cursor"])
        let page = try await backend.store.list(
            account: try query.checked("account") { text throws(InvalidInput) in
                try AccountID(text)
            },
            limit: try query.integer("limit", in: 1...500) ?? 50,
            cursor: query.text("cursor")
        )
        return Response(json: page.json { $0.json() })
    }

    @Sendable
    private func get(_ request: Request, _ context: APIContext) async throws -> Response {
        let endpoint = try await stored(request, context).endpoint
        return Response(json: endpoint.json(health: try await lanes.lane(endpoint.lane)))
    }

    @Sendable
    private func change(_ request: Request, _ context: APIContext) async throws -> Response {
        let old = try await stored(request, context).endpoint
        try Self.checkNotOfFile(old)
        try BodyReader.checkType(request, allowed: ["application/json"])
        let fields = try EndpointFields(
            json: try await reader.json(request),
            isNew: false,
            standardLimit: backend.standardLimit
        )
        var wish = old
        try fields.apply(to: &wish)
        guard wish.url.isWebhook == old.url.isWebhook else {
            throw Problem(
                .invalidValue,
                "url cannot change between https:// and other schemes, because only webhooks "
                    + "have a secret; create another endpoint.",
                field: "url"
            )
        }
        try await checkFallback(wish)
        return try await changed(old.id) { endpoint, _ throws(Problem) in
            try fields.apply(to: &endpoint)
        }
    }

    /// Removing what is gone is told as such: there is no telling whether it ever was there.
    @Sendable
    private func remove(_ request: Request, _ context: APIContext) async throws -> Response {
        let endpoint = try await stored(request, context).endpoint
        if !FileEndpoints.hasLeft(endpoint) { try Self.checkNotOfFile(endpoint) }
        guard try await backend.store.remove(endpoint.id) else {
            throw Problem.endpointNotFound(endpoint.id)
        }
        return Response(json: endpoint.json())
    }
}

extension EndpointRoutes {
    /// The endpoint that the path names, when it is of the account that the query may name.
    func stored(
        _ request: Request,
        _ context: APIContext
    ) async throws -> StoredEndpoint {
        let query = try QueryParameters(request, allowed: ["account"])
        let account = try query.checked("account") { text throws(InvalidInput) in
            try AccountID(text)
        }
        let text = context.parameters.get("endpoint") ?? ""
        let id = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try EndpointID(text)
        }
        guard let stored = try await backend.store.read(id),
            account == nil || account == stored.endpoint.account
        else { throw Problem.endpointNotFound(id) }
        return stored
    }

    /// Changes an endpoint and answers with it.
    func changed(
        _ id: EndpointID,
        _ change: (inout Endpoint, Timestamp) throws(Problem) -> Void
    ) async throws -> Response {
        var problem: Problem?
        let endpoint = try await backend.store.update(id) { endpoint, now in
            do throws(Problem) {
                var changed = endpoint
                try change(&changed, now)
                endpoint = changed
                problem = nil
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        guard let endpoint else { throw Problem.endpointNotFound(id) }
        return Response(json: endpoint.json())
    }

    /// The fallback must be there, under the same account: a typing mistake would be noticed only
    /// when it is needed.
    private func checkFallback(_ endpoint: Endpoint) async throws {
        guard let fallback = endpoint.notifyBy?.fallback else { return }
        guard try await backend.store.read(fallback)?.endpoint.account == endpoint.account else {
            throw Problem(
                .invalidValue,
                "notify_by.endpoint names no endpoint of the account \(endpoint.account).",
                field: "notify_by.endpoint"
            )
        }
    }

    static func checkNotOfFile(_ endpoint: Endpoint) throws(Problem) {
        guard let name = endpoint.name else { return }
        throw Problem(
            .endpointOfFile,
            "The endpoint is \(name) of the configuration file: change it there and start the "
                + "notifiers again. Here it can be tested, enabled and disabled, and removed once "
                + "the file does not name it any more."
        )
    }

    /// The fields of a body that may be left out.
    func optionalBody(
        _ request: Request,
        _ known: [String]
    ) async throws -> RequestFields {
        let (json, bytes) = try await reader.jsonAndBytes(request, orNone: true)
        if bytes.isEmpty { return RequestFields([]) }
        try BodyReader.checkType(request, allowed: ["application/json"])
        guard case .object(let members) = json else {
            throw Problem(.wrongType, "The body must be an object, not \(json.typeName).")
        }
        for member in members where !known.contains(member.name) {
            let shown = String(member.name.prefix(64))
            throw Problem(
                .unknownField,
                "\(shown) is not known; this request has \(known.joined(separator: ", ")).",
                field: shown
            )
        }
        return RequestFields(members)
    }
}

extension Problem {
    /// "There is no such endpoint", with what to do.
    static func endpointNotFound(_ id: EndpointID) -> Problem {
        Problem(
            .endpointNotFound,
            "There is no endpoint \(id) (under this account); GET /v1/endpoints lists them."
        )
    }
}
