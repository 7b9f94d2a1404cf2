import Hummingbird
import Poller

/// The deliveries: how they stand, what was tried, and to try again.
struct DeliveryRoutes {
    /// Rounds of reading and changing a delivery that notifiers change meanwhile.
    private static let roundsMax = 5
    /// Endpoints of one source that are looked at; who has more asks by endpoint.
    private static let endpointsMax = 500

    let backend: APIBackend

    func add(to router: Router<APIContext>) {
        router.add(.listDeliveries, list)
        router.add(.getDelivery, get)
        router.add(.deliveryAttempts, attempts)
        router.add(.retryDelivery, retry)
    }

    @Sendable
    private func list(_ request: Request, _ context: APIContext) async throws -> Response {
        let parameters = ["endpoint", "source", "account", "kind", "state", "limit", "cursor"]
        let query = try QueryParameters(request, allowed: parameters)
        let wanted = DeliveryQuery(
            endpoint: try query.checked("endpoint") { text throws(InvalidInput) in
                try EndpointID(text)
            },
            state: try query.choice("state", DeliverySnapshot.State.self),
            limit: try query.integer("limit", in: 1...500) ?? 50,
            cursor: query.text("cursor")
        )
        guard let key = try Self.watch(query) else {
            return Response(
                json: try await backend.deliveries.deliveries(wanted).json { $0.json() }
            )
        }
        return Response(json: try await page(of: key, wanted).json { $0.json() })
    }

    /// The watch that the parameters name; nil when they name none.
    private static func watch(_ query: QueryParameters) throws(Problem) -> WatchKey? {
        let source = try query.checked("source") { text throws(InvalidInput) in
            try SourceID(text)
        }
        guard let source else {
            for name in ["account", "kind"] where query.text(name) != nil {
                throw Problem(
                    .invalidParameter,
                    "\(name) belongs to source; name a source, or leave it out.",
                    field: name
                )
            }
            return nil
        }
        return WatchKey(
            account: try query.checked("account") { text throws(InvalidInput) in
                try AccountID(text)
            } ?? .main,
            source: source,
            kind: try SourceKind(named: query.text("kind"), of: source, code: .invalidParameter)
        )
    }

    /// The deliveries of one source: to its inline URLs, and to endpoints that may be told of it.
    ///
    /// No index is kept for that: their ids are derived.
    private func page(
        of key: WatchKey,
        _ query: DeliveryQuery
    ) async throws -> ListPage<DeliverySnapshot> {
        var endpoints: [EndpointID] = []
        if let endpoint = query.endpoint {
            endpoints = [endpoint]
        } else {
            let inline = try await backend.watches.snapshot(of: key)?.notify ?? []
            endpoints = inline.map { EndpointID(account: key.account, url: $0.description) }
            var cursor: String?
            repeat {
                let page = try await backend.endpoints.store.list(
                    account: key.account,
                    limit: Self.endpointsMax,
                    cursor: cursor
                )
                endpoints += page.items.filter { endpoint in
                    let sources = endpoint.scope.sources
                    return sources.isEmpty || sources.contains(key.source)
                }.map(\.id)
                cursor = page.next
            } while cursor != nil && endpoints.count < Self.endpointsMax
        }
        var items: [DeliverySnapshot] = []
        for endpoint in endpoints.prefix(Self.endpointsMax) {
            let id = backend.deliveries.id(of: endpoint, key)
            let snapshot = try await backend.deliveries.delivery(id)
            if let snapshot, query.matches(snapshot) { items.append(snapshot) }
        }
        return ListPage(items: items, next: nil)
    }

    @Sendable
    private func get(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        let snapshot = try await snapshot(try Self.id(context))
        return Response(json: snapshot.json(lane: try await lane(of: snapshot)))
    }

    @Sendable
    private func attempts(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        let id = try Self.id(context)
        let attempts = try await backend.deliveries.attempts(of: id)
        if attempts.isEmpty { _ = try await snapshot(id) }
        var json = JSONObject()
        json.add("data", raw: JSONObject.array(attempts.map(\.json)))
        json.add("has_more", false)
        json.add("next", orNull: nil)
        return Response(json: json.text)
    }

    /// Retrying what is due already succeeds: the answer to the first try got lost.
    @Sendable
    private func retry(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        let id = try Self.id(context)
        for _ in 0..<Self.roundsMax {
            let found = try await snapshot(id)
            var state = found.delivery.state
            guard found.state == .failing || found.state == .waiting || !state.dead.isEmpty else {
                if found.state == .inFlight { break }
                throw Problem(
                    .nothingToRetry,
                    "Everything that \(id) had to tell was accepted; to send it all again, "
                        + "replay the endpoint with status all."
                )
            }
            try await checkEnabled(found.delivery.endpoint)
            state.revive()
            let revision = DeliveryRevision(id: id, from: found.delivery.state, to: state)
            guard try await backend.deliveries.revise([revision], endingHolds: true) == [.done]
            else { continue }
            let revived = try await snapshot(id)
            return Response(json: revived.json(lane: try await lane(of: revived)))
        }
        throw Problem(
            .deliveryBusy,
            "A notifier is trying \(id) right now; look at its attempts, then ask again.",
            retryAfterSeconds: 1
        )
    }

    /// Nothing is sent to a disabled endpoint, so a retry would only seem to have worked.
    private func checkEnabled(_ id: EndpointID) async throws {
        guard
            case .disabled(let reason, _) = try await backend.endpoints.store.read(id)?
                .endpoint.state
        else { return }
        throw Problem(
            .endpointDisabled,
            "\(id) is told nothing (\(reason)); enable it first: pollerctl endpoint enable \(id)"
        )
    }

    private func snapshot(_ id: DeliveryID) async throws -> DeliverySnapshot {
        guard let snapshot = try await backend.deliveries.delivery(id) else {
            throw Problem(
                .deliveryNotFound,
                "There is no delivery \(id); GET /v1/deliveries lists those there are."
            )
        }
        return snapshot
    }

    private func lane(of snapshot: DeliverySnapshot) async throws -> LaneReport? {
        try await backend.deliveries.lane(LaneID(endpoint: snapshot.delivery.endpoint))
    }

    private static func id(_ context: APIContext) throws(Problem) -> DeliveryID {
        let text = context.parameters.get("delivery") ?? ""
        return try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try DeliveryID(text)
        }
    }
}
