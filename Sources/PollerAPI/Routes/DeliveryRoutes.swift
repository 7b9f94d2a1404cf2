import Hummingbird
import Poller
import PollerIdentity
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
        "List deliveries, the newest first",
        """
        In the order in which the endpoint first had something to be sent about the source; of dead ones those \
        that go on come first, then those that were given up last. One that changes its state while you page \
        keeps its place, and may leave or enter a list of one state.
        """,
        access: .key(.readDeliveries),
        input: .all(
            .query(EndpointID.self, "endpoint", "Only those to this endpoint.", .endpointID),
            .ofSource,
            .choice(
                "state",
                """
                Only those that stand so; dead also lists those that go on and have dead letters.
                """
            ),
            .limit("Deliveries a page."),
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
        answers: [.ok("A page of deliveries; it may be empty and have a next one.", "DeliveryPage")]
    )
    private static let get = Route(
        .get,
        "/v1/deliveries/{delivery}",
        "getDelivery",
        "Read a delivery, and how its endpoint stands",
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
        "Kept for 30 days after the newest.",
        access: .key(.readDeliveries),
        input: .delivery,
        answers: [.ok("The attempts.", "AttemptPage")],
        problems: [404]
    )
    private static let retry = Route(
        .post,
        "/v1/deliveries/{delivery}/retry",
        "retryDelivery",
        "Try a delivery now, and send what was given up again",
        """
        Under the same event ids, on a schedule that begins anew; also while the endpoint's \
        circuit is open. 409 endpoint_disabled while it is told nothing.
        """,
        access: .key(.retryDeliveries),
        input: .delivery,
        repeats: .byNature("what is due already stays so, and each event keeps its id"),
        answers: [.ok("It is due now.", "Delivery")],
        problems: [404, 409]
    )

    private static let dismiss = Route(
        .post,
        "/v1/deliveries/{delivery}/dismiss",
        "dismissDelivery",
        "Let what was given up rest",
        """
        For what the receiver is not to get any more: it is no longer among the dead, and no retry sends it. \
        What comes later is sent as before.
        """,
        access: .key(.retryDeliveries),
        input: .delivery,
        repeats: .byNature("what rests already stays so"),
        answers: [.ok("Nothing that was given up is left of it.", "Delivery")],
        problems: [404, 409]
    )

    let backend: APIBackend
    let statusCache: ClusterStatusCache

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.get.answered(by: get),
            Self.attempts.answered(by: attempts), Self.retry.answered(by: retry),
            Self.dismiss.answered(by: dismiss),
        ] + messages
    }

    @Sendable
    private func list(
        _ wanted: (key: WatchKey?, query: DeliveryQuery),
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let key = wanted.key else {
            let query = wanted.query.narrowed(to: context.caller.accounts)
            let page = try await backend.deliveries.deliveries(query)
            return Response(try await told(page, context))
        }
        guard context.caller.accounts.contains(key.account) else {
            return Response(Page<PollerWire.Delivery>([]))
        }
        return Response(try await told(page(of: key, wanted.query), context))
    }

    /// Returns a page, with the endpoint's state for deliveries that wait for their endpoint.
    private func told(
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
            let isWaiting = if case .waiting = snapshot.place { true } else { false }
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

    @Sendable
    private func get(
        _ id: DeliveryID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let snapshot = try await snapshot(id, context.caller)
        return Response(try await shown(snapshot))
    }

    /// Retries a delivery.
    ///
    /// A delivery that is already due succeeds, as the first response may have been lost.
    @Sendable
    private func retry(
        _ id: DeliveryID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        for _ in 0..<Self.roundsMax {
            let found = try await snapshot(id, context.caller)
            var state = found.delivery.state
            guard found.state == .failing || found.state == .waiting || !state.dead.isEmpty else {
                if found.state == .inFlight { break }
                throw Problem(
                    .nothingToRetry,
                    state.attempts == 0
                        ? "\(id) has had nothing to tell yet."
                        : "Everything that \(id) had to tell was accepted; to send it all again, "
                            + "replay the endpoint with status all."
                )
            }
            try await checkEnabled(found.delivery.endpoint)
            state.revive()
            let revision = DeliveryRevision(id: id, from: found.delivery.state, to: state)
            guard try await backend.deliveries.revise([revision], endingHolds: true) == [.done]
            else { continue }
            context.changes.did(
                AuditTarget(.delivery, id.description),
                of: found.delivery.watch.account
            )
            let revived = try await snapshot(id, context.caller)
            return Response(try await shown(revived))
        }
        throw Self.busy(id)
    }

    /// Dismisses dead letters.
    ///
    /// A delivery without any succeeds, as the first response may have been lost.
    @Sendable
    private func dismiss(
        _ id: DeliveryID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        for _ in 0..<Self.roundsMax {
            let found = try await snapshot(id, context.caller)
            var state = found.delivery.state
            state.dismiss()
            guard state != found.delivery.state else {
                context.changes.nothing()
                return Response(try await shown(found))
            }
            if found.state == .inFlight { break }
            let revision = DeliveryRevision(id: id, from: found.delivery.state, to: state)
            guard try await backend.deliveries.dismiss([revision]) == [.done] else { continue }
            context.changes.did(
                AuditTarget(.delivery, id.description),
                of: found.delivery.watch.account,
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
            "A notifier is trying \(id) right now; look at its attempts, then ask again.",
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
            "\(id) is told nothing (\(reason)); enable it first: pollerctl endpoint enable \(id)"
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
                "There is no delivery \(id); GET /v1/deliveries lists those there are."
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
            "The delivery: dlv_….",
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
                Only those about this source: one page, of its inline URLs and of the endpoints \
                that may be told of it.
                """,
                .name(255)
            ),
            .query(
                AccountID.self,
                "account",
                "With source: the account at the upstream; default when absent.",
                .name(64)
            ),
            .text(
                "kind",
                "With source: needed when the id begins with no prefix of Stripe's.",
                .shape("Kind")
            )
        ) { (source: $0, account: $1, kind: $2) }
        return Self(named.parameters) { values throws(Problem) in
            let (source, account, kind) = try named.read(values)
            guard let source else {
                for (name, isGiven) in [("account", account != nil), ("kind", kind != nil)]
                where isGiven {
                    throw Problem(
                        .invalidParameter,
                        "\(name) belongs to source; name a source, or leave it out.",
                        field: name
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
