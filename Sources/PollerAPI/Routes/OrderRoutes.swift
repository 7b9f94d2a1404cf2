import Hummingbird
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerWatches
import PollerWire

/// Orders, which customers may try to pay in several ways.
///
/// The first watch with an order ID creates the order. It is deleted like a closed watch, counted from its last change.
/// Orders are not created or changed directly: the payment state is computed from the members.
struct OrderRoutes {
    private static let list = Route(
        .get,
        "/v1/orders",
        "listOrders",
        "List the orders of an account, newest first",
        access: .key(.readWatches),
        input: .all(
            .account("The account of the orders. Default: default."),
            RouteInput<PaymentState?>.choice("state", "Orders with this payment state."),
            .flag("paid_twice", "Only orders that several sources have paid."),
            .limit("Orders per page.", 50, most: 100),
            .cursor()
        ) { account, state, isPaidTwice, limit, cursor in
            OrderQuery(
                account: account,
                state: state,
                isPaidTwice: isPaidTwice,
                limit: limit,
                cursor: cursor
            )
        },
        answers: [.ok("A page of orders.", "OrderPage")]
    )
    private static let get = Route(
        .get,
        "/v1/orders/{order}",
        "getOrder",
        "Read the payment state of an order and of each attempt to pay it",
        access: .key(.readWatches),
        input: .order,
        answers: [.ok("The order.", "Order")],
        problems: [404]
    )

    private static let events = Route(
        .get,
        "/v1/orders/{order}/events",
        "orderEvents",
        "List the events of an order, by seq; the last 100 are kept",
        access: .key(.readWatches),
        input: .all(
            .order,
            .integer(
                "after_seq",
                "Events after this seq; next of the previous page.",
                in: 0...Int.max,
                standard: 0
            ),
            .limit("Events per page.", 100, most: 100)
        ) { (key: $0, afterSeq: $1, limit: $2) },
        answers: [.ok("A page of events.", "EventPage")],
        problems: [404]
    )

    let orders: any OrderStore
    let watches: any WatchStore
    let scans: Scans

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.get.answered(by: get),
            Self.events.answered(by: events),
        ]
    }

    private func list(_ query: OrderQuery, _ context: APIContext) async throws -> Response {
        guard context.caller.accounts.contains(query.account) else {
            return Response(Page<PollerWire.Order>([]))
        }
        let page = try await scans.page(isScan: query.isScan, for: context.caller) {
            try await orders.orders(query)
        }
        return Response(page.wire(for: context) { $0.wire })
    }

    private func get(_ key: OrderKey, _ context: APIContext) async throws -> Response {
        guard let order = try await orders.order(key) else { throw Self.notFound(key) }
        return Response(order.wire)
    }

    private func events(
        _ input: (key: OrderKey, afterSeq: Int, limit: Int),
        _ context: APIContext
    ) async throws -> Response {
        let (key, afterSeq, limit) = input
        let events = try await watches.events(of: key.watch, after: afterSeq, limit: limit + 1)
        if events.isEmpty, try await orders.order(key) == nil { throw Self.notFound(key) }
        return Response(Page(of: events, limit: limit, after: afterSeq))
    }

    fileprivate static func notFound(_ key: OrderKey) -> Problem {
        Problem(
            .orderNotFound,
            "No watch of account \(key.account) has named the order \(key.order), or it "
                + "has expired; name it with POST /v1/watches, or name another account."
        )
    }
}

extension RouteInput where Value == OrderKey {
    /// The order in the path and the parameter `account`.
    fileprivate static var order: Self {
        let named = RouteInput.all(
            .path(
                OrderID.self,
                "order",
                "The order's ID, as in its watches; percent-encoded, including slashes.",
                .matching(OrderNames.pattern)
            ),
            .account("The account of the order. Default: default.")
        ) { OrderKey(account: $1, order: $0) }
        return Self(named.parameters) { values throws(Problem) in
            let key = try named.read(values)
            guard values.caller.accounts.contains(key.account) else {
                throw OrderRoutes.notFound(key)
            }
            return key
        }
    }
}
