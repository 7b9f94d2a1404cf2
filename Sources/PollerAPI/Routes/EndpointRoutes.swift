import Hummingbird
import JSONText
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// The registered endpoints: create, list, read, change, remove.
///
/// *Secrets* are returned only in the response that created them, and header values never: permission to list endpoints
/// must not include permission to sign.
///
/// *Repeats.* Creation is the only operation here that is not idempotent, because clients do not choose the ID. So its
/// `Idempotency-Key` is stored, and so is that of a rotation. In addition to ``IdempotencyMiddleware``, the registry records
/// the creating request in the same step as the endpoint, so a repeat after a crash finds it.
///
/// *Changes* are functions that the store applies to the current value, and applies again after a concurrent change. So
/// two requests that change different fields both succeed. A change with `If-Match` applies to the version that the
/// client has read, or fails. A change is first applied to the endpoint as read, so that an invalid one costs no write.
///
/// *Endpoints of the configuration file* can be changed only there: a change here would be reverted at the next start.
struct EndpointRoutes {
    private static let create = Route(
        .post,
        "/v1/endpoints",
        "createEndpoint",
        "Register an endpoint",
        """
        The endpoint receives later events of all sources of its account. The secret is in this response and never \
        shown again.
        """,
        access: .key(.writeEndpoints),
        idempotency: .kept,
        body: .json(.shape("NewEndpoint")),
        answers: [.json(201, "The endpoint with its secret.", "Endpoint")],
        problems: [409]
    )
    private static let list = Route(
        .get,
        "/v1/endpoints",
        "listEndpoints",
        "List registered endpoints, newest first",
        access: .key(.readEndpoints),
        input: .all(
            .accounts("Endpoints of this account only."),
            .limit("Endpoints per page."),
            .cursor()
        ) { (accounts: $0, limit: $1, cursor: $2) },
        answers: [.ok("A page of endpoints.", "EndpointPage")]
    )
    private static let get = Route(
        .get,
        "/v1/endpoints/{endpoint}",
        "getEndpoint",
        "Read an endpoint",
        access: .key(.readEndpoints),
        input: .name,
        answers: [.ok("The endpoint.", "Endpoint")],
        problems: [404]
    )
    private static let change = Route(
        .patch,
        "/v1/endpoints/{endpoint}",
        "changeEndpoint",
        "Change an endpoint",
        "Absent fields stay as they are. null restores the default.",
        access: .key(.writeEndpoints),
        input: .all(.name, .ifMatch) { (name: $0, condition: $1) },
        idempotency: .inherent(
            "the same change has no further effect; If-Match prevents overwriting other changes"
        ),
        body: .json(.shape("EndpointChange")),
        answers: [.ok("The updated endpoint.", "Endpoint")],
        problems: [404, 409]
    )
    private static let remove = Route(
        .delete,
        "/v1/endpoints/{endpoint}",
        "removeEndpoint",
        "Remove an endpoint",
        "Its pending events are not delivered.",
        access: .key(.writeEndpoints),
        input: .all(.name, .ifMatch) { (name: $0, condition: $1) },
        idempotency: .inherent(
            "a removed endpoint stays removed, and the response is that of a missing one"
        ),
        answers: [.ok("The endpoint before its removal.", "Endpoint")],
        problems: [404, 409]
    )

    let backend: EndpointBackend
    let limits: @Sendable () -> AccountLimits
    let deliveries: any DeliveryOperations & LaneControl
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [
            Self.create.answered(by: create), Self.list.answered(by: list),
            Self.get.answered(by: get), Self.change.answered(by: change),
            Self.remove.answered(by: remove),
        ] + actions
    }

    /// Creates an endpoint.
    ///
    /// A repeat with the same `Idempotency-Key` returns the endpoint of the first request, with its secret as long as
    /// the endpoint is unchanged.
    private func create(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let (wanted, bytes) = try await reader.objectAndBytes(NewEndpoint.self, of: request)
        let endpoint = try endpoint(wanted, for: context.caller)
        try await checkFallback(endpoint)
        let key = request.headers[.idempotencyKey].map { key in
            EndpointRequest(
                account: endpoint.account,
                key: context.caller.scopedKey(key),
                body: bytes
            )
        }
        switch try await stored(endpoint, key, context) {
        case .created(let created):
            context.changes.recordChange(from: nil, to: created)
            return Self.shown(created, status: .created)
        case .repeated(let made, let isUntouched):
            context.changes.recordUnchanged()
            var response =
                isUntouched
                ? Self.shown(made, status: .created)
                : Response(PollerWire.Endpoint(made), status: .created)
            response.headers[.idempotentReplayed] = "true"
            return response
        case .conflict:
            throw Problem(
                .idempotencyKeyReused,
                "This Idempotency-Key has created another endpoint, or one that was "
                    + "removed; use a new key for a new endpoint.",
                field: "Idempotency-Key"
            )
        case .tooMany:
            throw Problem(
                .tooManyEndpoints,
                "There are \(PollerDeliveries.Endpoint.countMax) endpoints already; remove those "
                    + "no longer needed."
            )
        case .tooManyOfAccount:
            let most = limits()[endpoint.account].endpoints
            throw Problem(
                .tooManyEndpoints,
                "The account \(endpoint.account) has reached its limit of \(most) "
                    + "endpoints; remove those no longer needed, or raise "
                    + "POLLER_ENDPOINTS_PER_ACCOUNT or the account's limits in the "
                    + "configuration file."
            )
        case .nameTaken(let holder): throw Problem.endpointNameTaken(endpoint.name, by: holder)
        case .exists: throw StoreError.corrupt("a random id was given twice")
        }
    }

    /// Stores an endpoint.
    ///
    /// If the store's result is unknown, the error says so.
    private func stored(
        _ endpoint: PollerDeliveries.Endpoint,
        _ key: EndpointRequest?,
        _ context: APIContext
    ) async throws -> EndpointCreation {
        let accountMax = limits()[endpoint.account].endpoints
        do throws(StoreError) {
            return try await context.changes.attempt(
                AuditTarget(endpoint),
                of: endpoint.account
            ) { () throws(StoreError) in
                try await backend.store.create(endpoint, request: key, accountMax: accountMax)
            }
        } catch {
            guard key == nil, case .unavailable(_, true) = error else { throw error }
            throw Problem(
                .storeUnavailable,
                "It is unknown whether the endpoint was created: check GET "
                    + "/v1/endpoints before you send this again, or send it with an "
                    + "Idempotency-Key, which makes repeats safe.",
                retryAfterSeconds: 1
            )
        }
    }

    private func endpoint(
        _ wanted: NewEndpoint,
        for caller: Caller
    ) throws(Problem) -> PollerDeliveries.Endpoint {
        guard let url = try wanted.choices.checkedURL(for: backend) else {
            throw Problem.missing(
                "url",
                "is required: https://…, mailto:name@host or redis+stream:NAME."
            )
        }
        let named = try Problem.checked { () throws(InvalidInput) in
            try wanted.account.map { text throws(InvalidInput) in try AccountID(text) }
        }
        let types = wanted.choices.types.value ?? []
        if types.contains(where: EventSubject.isOfOperators) {
            try caller.requireClusterAccess(in: "types")
        }
        let side = try Problem.checked { () throws(InvalidInput) in
            try PollerDeliveries.Endpoint.account(asking: types, named: named)
        }
        let account = side == .operators ? .operators : try caller.account(named: named)
        try Problem.checked { () throws(InvalidInput) in
            try url.check(for: caller, of: account, field: "url")
        }
        let signing = try wanted.checkedSigning(of: url)
        var generator = SystemRandomNumberGenerator()
        var endpoint = PollerDeliveries.Endpoint(
            id: EndpointID(using: &generator),
            account: account,
            url: url,
            secrets: url.isWebhook
                ? [EndpointSecret(WebhookSecret(using: &generator, signing: signing))] : []
        )
        try endpoint.apply(wanted.choices, of: backend)
        return endpoint
    }

    /// Returns the endpoint with its newest secret, which no other response contains.
    static func shown(
        _ endpoint: PollerDeliveries.Endpoint,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let secret = endpoint.secrets.first?.secret
        return Response(PollerWire.Endpoint(endpoint, secret: secret), status: status)
    }

    private func list(
        _ query: (accounts: AccountSet, limit: Int, cursor: String?),
        _ context: APIContext
    ) async throws -> Response {
        let page = try await backend.store.list(
            accounts: query.accounts,
            limit: query.limit,
            cursor: query.cursor
        )
        let health = try await health(of: page.items)
        return Response(
            page.wire(for: context) { endpoint in
                PollerWire.Endpoint(
                    endpoint,
                    health: health[endpoint.id].map { PollerWire.EndpointHealth($0) }
                )
            }
        )
    }

    /// Returns the health of the endpoints of a page, so that a failing one is visible in the list.
    private func health(
        of endpoints: [PollerDeliveries.Endpoint]
    ) async throws -> [EndpointID: LaneReport] {
        try await withThrowingTaskGroup(of: (EndpointID, LaneReport?).self) { group in
            for endpoint in endpoints {
                // At most one page, on one connection.
                group.addTask { [deliveries] in
                    (endpoint.id, try await deliveries.lane(endpoint.lane))
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func get(_ name: EndpointName, _ context: APIContext) async throws -> Response {
        let stored = try await stored(name)
        let health = try await deliveries.health(of: stored.endpoint.id)
        return Response(PollerWire.Endpoint(stored.endpoint, health: health))
            .revised(stored.revision)
    }

    private func change(
        _ requested: (name: EndpointName, condition: Precondition),
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let old = try await stored(requested.name, as: requested.condition).endpoint
        try Self.checkNotOfFile(old)
        let change = try await reader.object(EndpointChange.self, of: request) { body in
            guard body.member("account") == nil else {
                throw Problem(
                    .unknownField,
                    "account cannot be changed; create another endpoint.",
                    field: "account"
                )
            }
        }
        let backend = backend
        var updated = old
        try updated.apply(change, of: backend)
        guard updated.url.isWebhook == old.url.isWebhook else {
            throw Problem.value(
                "url",
                "cannot change between https:// and other schemes, because only webhooks "
                    + "have a secret; create another endpoint."
            )
        }
        if updated.url != old.url {
            try Problem.checked { () throws(InvalidInput) in
                try updated.url.check(for: context.caller, of: old.account, field: "url")
            }
        }
        try await checkFallback(updated)
        return try await changed(old.id, as: requested.condition, context) {
            endpoint,
            _ throws(Problem) in
            try endpoint.apply(change, of: backend)
        }
    }

    /// Removes an endpoint.
    ///
    /// A missing one is reported as missing, because it is unknown whether it ever existed.
    private func remove(
        _ requested: (name: EndpointName, condition: Precondition),
        _ context: APIContext
    ) async throws -> Response {
        let stored = try await stored(requested.name, as: requested.condition)
        let endpoint = stored.endpoint
        if !FileEndpoints.hasLeft(endpoint) { try Self.checkNotOfFile(endpoint) }
        let version = requested.condition == .none ? nil : stored.version
        let removal = try await context.changes.attempt(
            AuditTarget(endpoint),
            of: endpoint.account
        ) { () throws(StoreError) in
            try await backend.store.remove(endpoint.id, version: version)
        }
        switch removal {
        case .removed: break
        case .changed: throw Precondition.failed
        case .gone: throw Problem.endpointNotFound(endpoint.id)
        }
        context.changes.recordChange(from: endpoint, to: nil)
        return Response(PollerWire.Endpoint(endpoint))
    }
}
