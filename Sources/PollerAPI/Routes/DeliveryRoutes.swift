import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire

/// Deliveries: their state and attempts, and retry and dismiss.
///
/// Notifiers change a delivery's state all the time. A retry is therefore a conditional update of the state it was
/// computed from (``DeliveryRevision``). It is attempted for some rounds, and then fails with a 409. A lock would let
/// an operator's request block the delivery.
struct DeliveryRoutes {
    /// The maximum rounds of reading and updating a delivery that notifiers change concurrently.
    private static let roundsMax = 5

    private static let list = Route(
        .get,
        "/v1/deliveries",
        "listDeliveries",
        "List deliveries, newest first",
        """
        Ordered by when the endpoint first had an event of the source to receive. Dead ones: first those still in \
        progress, then by their latest dead letter. A delivery that changes its state while you page keeps its \
        position, and may enter or leave a list of one state.
        """,
        access: .key(.readDeliveries),
        input: .all(
            .query(EndpointID.self, "endpoint", "Only deliveries to this endpoint.", .endpointID),
            .ofSource,
            .choice(
                "state",
                """
                Only deliveries in this state. dead includes deliveries in progress that have dead letters.
                """
            ),
            .limit("Deliveries per page."),
            .cursor(lengthMax: 2048)
        ) { endpoint, key, state, limit, cursor in
            let query = DeliveryQuery(
                endpoint: endpoint,
                state: state,
                limit: limit,
                cursor: cursor
            )
            return (key: key, query: query)
        },
        answers: [.ok("A page of deliveries. It may be empty and have a next one.", "DeliveryPage")]
    )
    private static let get = Route(
        .get,
        "/v1/deliveries/{delivery}",
        "getDelivery",
        "Read a delivery and the state of its endpoint",
        access: .key(.readDeliveries),
        input: .delivery,
        answers: [.ok("The delivery.", "Delivery")],
        problems: [404]
    )
    private static let attempts = Route(
        .get,
        "/v1/deliveries/{delivery}/attempts",
        "deliveryAttempts",
        "The newest 20 attempts of a delivery, oldest first",
        "Attempts are kept for 30 days after the newest one.",
        access: .key(.readDeliveries),
        input: .delivery,
        answers: [.ok("The attempts.", "AttemptPage")],
        problems: [404]
    )
    private static let retry = Route(
        .post,
        "/v1/deliveries/{delivery}/retry",
        "retryDelivery",
        "Retry a delivery now, including its dead letters",
        """
        Events keep their IDs, and the retry schedule starts again, also while the endpoint's circuit is open. 409 \
        endpoint_disabled while the endpoint is disabled.
        """,
        access: .key(.retryDeliveries),
        input: .delivery,
        idempotency: .inherent("a delivery that is due stays due, and each event keeps its ID"),
        answers: [.ok("The delivery is due now.", "Delivery")],
        problems: [404, 409]
    )

    private static let dismiss = Route(
        .post,
        "/v1/deliveries/{delivery}/dismiss",
        "dismissDelivery",
        "Dismiss the dead letters of a delivery",
        """
        For events that the recipient should not receive any more: the delivery is no longer listed as dead, and \
        no retry sends them. Later events are sent as before.
        """,
        access: .key(.retryDeliveries),
        input: .delivery,
        idempotency: .inherent("dismissed events stay dismissed"),
        answers: [.ok("The delivery without dead letters.", "Delivery")],
        problems: [404, 409]
    )

    let backend: APIBackend
    let statusCache: ClusterStatusCache
    let scans: Scans

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.get.answered(by: get),
            Self.attempts.answered(by: attempts), Self.retry.answered(by: retry),
            Self.dismiss.answered(by: dismiss),
        ] + messages
    }

    private func list(
        _ wanted: (key: WatchKey?, query: DeliveryQuery),
        _ context: APIContext
    ) async throws -> Response {
        guard let key = wanted.key else {
            let query = wanted.query.narrowed(to: context.caller.accounts)
            let page = try await scans.page(isScan: query.isScan, for: context.caller) {
                try await backend.deliveries.deliveries(query)
            }
            return Response(try await wirePage(page, context))
        }
        guard context.caller.accounts.contains(key.account) else {
            return Response(Page<PollerWire.Delivery>([]))
        }
        return Response(try await wirePage(page(of: key, wanted.query), context))
    }

    /// Returns a page, with the endpoint's state for deliveries that wait for their endpoint.
    private func wirePage(
        _ page: ListPage<DeliverySnapshot>,
        _ context: APIContext
    ) async throws -> Page<PollerWire.Delivery> {
        let waiting = page.items.filter { $0.state == .waiting || $0.state == .failing }
        let lanes = try await backend.deliveries.stopped(Set(waiting.map(\.delivery.endpoint)))
        let last = try await backend.deliveries.lastAttempts(of: page.items.map(\.id))
        let registered = page.items.filter { $0.delivery.url == nil }.map(\.delivery.endpoint)
        let names = await backend.endpoints.store.names(of: Set(registered))
        return page.wire(for: context) { snapshot in
            let endpoint = snapshot.delivery.endpoint
            let isWaiting = if case .waiting = snapshot.queueState { true } else { false }
            return PollerWire.Delivery(
                snapshot,
                lane: isWaiting ? lanes[endpoint] : nil,
                name: names[endpoint],
                lastAttempt: last[snapshot.id]
            )
        }
    }

    /// Returns the deliveries of one source: to its inline URLs, and to endpoints that may receive its events.
    private func page(
        of key: WatchKey,
        _ query: DeliveryQuery
    ) async throws -> ListPage<DeliverySnapshot> {
        let endpoints =
            if let endpoint = query.endpoint { [endpoint] } else {
                try await backend.receivers(of: key).map(\.id)
            }
        var items: [DeliverySnapshot] = []
        for endpoint in endpoints {
            let id = backend.deliveries.id(of: endpoint, key)
            let snapshot = try await backend.deliveries.delivery(id)
            if let snapshot, query.matches(snapshot) { items.append(snapshot) }
        }
        return ListPage(items: items, next: nil)
    }

    private func get(_ id: DeliveryID, _ context: APIContext) async throws -> Response {
        let snapshot = try await snapshot(id, context.caller)
        return Response(try await shown(snapshot))
    }

    /// Retries a delivery.
    ///
    /// A delivery that is already due succeeds, as the first response may have been lost.
    private func retry(_ id: DeliveryID, _ context: APIContext) async throws -> Response {
        for _ in 0..<Self.roundsMax {
            let found = try await snapshot(id, context.caller)
            var state = found.delivery.state
            guard found.state == .failing || found.state == .waiting || !state.dead.isEmpty else {
                if found.state == .inFlight { break }
                throw Problem(
                    .nothingToRetry,
                    state.attempts == 0
                        ? "\(id) has no events to send yet."
                        : "All events of \(id) were accepted; to send them again, replay "
                            + "the endpoint with status all."
                )
            }
            try await checkEnabled(found.delivery.endpoint)
            state.revive()
            let revision = DeliveryRevision(id: id, from: found.delivery.state, to: state)
            let (target, account) = (
                AuditTarget(.delivery, id.description), found.delivery.watch.account
            )
            let results = try await context.changes.attempt(target, of: account) {
                () throws(StoreError) in
                try await backend.deliveries.revise([revision], endingHolds: true)
            }
            guard results == [.done] else { continue }
            context.changes.recordAction(target, of: account)
            let revived = try await snapshot(id, context.caller)
            return Response(try await shown(revived))
        }
        throw Self.busy(id)
    }

    /// Dismisses dead letters.
    ///
    /// A delivery without any succeeds, as the first response may have been lost.
    private func dismiss(_ id: DeliveryID, _ context: APIContext) async throws -> Response {
        for _ in 0..<Self.roundsMax {
            let found = try await snapshot(id, context.caller)
            var state = found.delivery.state
            state.dismiss()
            guard state != found.delivery.state else {
                context.changes.recordUnchanged()
                return Response(try await shown(found))
            }
            if found.state == .inFlight { break }
            let revision = DeliveryRevision(id: id, from: found.delivery.state, to: state)
            let (target, account) = (
                AuditTarget(.delivery, id.description), found.delivery.watch.account
            )
            let results = try await context.changes.attempt(target, of: account) {
                () throws(StoreError) in try await backend.deliveries.dismiss([revision])
            }
            guard results == [.done] else { continue }
            context.changes.recordAction(
                target,
                of: account,
                from: [
                    "dead_seqs": found.delivery.state.dead.map(String.init).joined(separator: ",")
                ],
                to: ["dead_seqs": ""]
            )
            await context.note("dismissDelivery", on: found.delivery.watch, in: backend.watches)
            await statusCache.forget()
            let rested = try await snapshot(id, context.caller)
            return Response(try await shown(rested))
        }
        throw Self.busy(id)
    }

    private static func busy(_ id: DeliveryID) -> Problem {
        Problem(
            .deliveryBusy,
            "A notifier is attempting \(id) now; check its attempts, then try again.",
            retryAfterSeconds: 1
        )
    }

    /// Nothing is sent to a disabled endpoint, so a retry would have no effect.
    private func checkEnabled(_ id: EndpointID) async throws {
        guard
            case .disabled(let reason, _, _) = try await backend.endpoints.store.read(id)?
                .endpoint.state
        else { return }
        throw Problem(
            .endpointDisabled,
            "\(id) is disabled (\(reason)); enable it first: pollerctl endpoint enable \(id)"
        )
    }

    /// Returns a delivery that the caller may access.
    func snapshot(
        _ id: DeliveryID,
        _ caller: Caller
    ) async throws -> DeliverySnapshot {
        guard let snapshot = try await backend.deliveries.delivery(id, of: caller.accounts) else {
            throw Problem(
                .deliveryNotFound,
                "There is no delivery \(id); GET /v1/deliveries lists them."
            )
        }
        return snapshot
    }

    /// Returns a delivery with the state and the name of its endpoint.
    private func shown(_ snapshot: DeliverySnapshot) async throws -> PollerWire.Delivery {
        let endpoint = snapshot.delivery.endpoint
        let lane = try await backend.deliveries.lane(LaneID(endpoint: endpoint))
        let isInline = snapshot.delivery.url != nil
        let names = isInline ? [:] : await backend.endpoints.store.names(of: [endpoint])
        return PollerWire.Delivery(
            snapshot,
            lane: lane,
            name: names[endpoint],
            lastAttempt: try await backend.deliveries.lastAttempts(of: [snapshot.id])[snapshot.id]
        )
    }
}

extension RouteInput where Value == DeliveryID {
    /// The delivery in the path.
    static var delivery: Self {
        path(
            DeliveryID.self,
            "delivery",
            "The delivery's ID: dlv_….",
            .matching("^dlv_(0|[1-9][0-9]{0,17})_[A-Za-z0-9_-]{12}$")
        )
    }
}

extension RouteInput where Value == WatchKey? {
    /// The watch in the query; `nil` if the query names none.
    fileprivate static var ofSource: Self {
        let named = RouteInput<(source: SourceID?, account: AccountID?, kind: String?)>.all(
            .query(
                SourceID.self,
                "source",
                """
                Only deliveries of this source: one page, for its inline URLs and for the endpoints that may \
                receive its events.
                """,
                .name(255)
            ),
            .query(
                AccountID.self,
                "account",
                "With source: the account at the upstream. Default: default.",
                .name(64)
            ),
            .text(
                "kind",
                "With source: required if the ID has none of Stripe's prefixes.",
                .shape("Kind")
            )
        ) { (source: $0, account: $1, kind: $2) }
        return Self(named.parameters) { values throws(Problem) in
            let (source, account, kind) = try named.read(values)
            guard let source else {
                for (name, isGiven) in [("account", account != nil), ("kind", kind != nil)]
                where isGiven {
                    throw Problem.parameter(
                        name,
                        "requires source; name a source, or leave \(name) out."
                    )
                }
                return nil
            }
            let own = account == nil ? try values.caller.account(named: nil) : account
            return WatchKey(
                account: own ?? .main,
                source: source,
                kind: try SourceKind(named: kind, of: source, code: .invalidParameter)
            )
        }
    }
}
