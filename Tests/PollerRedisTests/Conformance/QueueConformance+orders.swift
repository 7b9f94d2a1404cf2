import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The order that a watch pays.
    static let paidOrders: [ConformanceCase] = [
        Case("the shop's order is in the snapshot, the lease and each event") { bench in
            let key = bench.key("1")
            let order = OrderID(unchecked: String(repeating: "A", count: OrderID.lengthMax))
            let secret = ClientSecret(unchecked: "src_1_client_secret_x")
            let new = try NewWatch(key: key, clientSecret: secret, charge: .whole, order: order)
            _ = try await bench.watches.enqueue([new])
            try equal(try await bench.snapshot(key).watch.order, order, "the order in the snapshot")
            let lease = try await bench.take(key)
            try equal(lease.item.order, order, "the order in the lease")
            try equal(lease.item.clientSecret, secret, "the secret in the lease")
            try equal(lease.item.charge, .whole, "the charge in the lease")
            _ = try await bench.commit(lease, .next(after: .zero), status: "pending")
            _ = try await bench.watches.cancel(key)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.order), [order, order], "the order in the events")
        },
        Case("the first order of a watch applies to every join, until a restart") { bench in
            let key = bench.key("1")
            let (first, second) = (OrderID(unchecked: "A77"), OrderID(unchecked: "B78"))
            try await bench.enqueue(key)
            try equal(try await bench.snapshot(key).watch.order, nil, "at first")
            for order in [first, second, nil] {
                let outcome = try await bench.watches.enqueue([
                    try NewWatch(key: key, order: order)
                ]).first?.outcome
                let isOther = order == second
                try equal(outcome, isOther ? .refused(.otherOrder(first)) : .joined, "outcome")
                try equal(try await bench.snapshot(key).watch.order, first, "after a join")
            }
            for order in [second, nil] {
                _ = try await bench.watches.cancel(key)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
                let watch = try await bench.snapshot(key).watch
                try equal(watch.order, order, "after a restart")
            }
        },
        Case("a call with another order than that of an open watch writes nothing") { bench in
            let (key, other) = (bench.key("1"), bench.key("2"))
            let elsewhere = bench.key("3", account: "acct_b")
            let (first, second) = (OrderID(unchecked: "A77"), OrderID(unchecked: "B78"))
            _ = try await bench.watches.enqueue([try NewWatch(key: key, order: first)])
            let paid = bench.eventCommit(try await bench.take(key), [.payment(.paid), .status])
            _ = try await bench.watches.commit([paid])
            let before = try await bench.snapshot(key)
            let newWatches = [
                try NewWatch(key: elsewhere, order: second), try NewWatch(key: other),
                try NewWatch(key: key, metadata: #"{"a":"b"}"#, order: second),
                try NewWatch(key: key, metadata: #"{"a":"c"}"#),
            ]
            let results = try await bench.watches.enqueue(newWatches, reading: true)
            try equal(
                results.map(\.outcome),
                [
                    .refused(.notTried), .refused(.notTried), .refused(.otherOrder(first)),
                    .refused(.notTried),
                ],
                "outcomes"
            )
            try equal(try await bench.snapshot(key), before, "the watch")
            for new in [other, elsewhere] {
                try bench.expect(
                    try await bench.watches.snapshot(of: new) == nil,
                    "a watch of the rejected call was created"
                )
            }
            // The same order joins, and its result has the payment, which the order takes over.
            let joined = try await bench.watches.enqueue([try NewWatch(key: key, order: first)])
            try equal(joined.first?.outcome, .joined, "outcome with the same order")
            let read = try await bench.snapshot(key)
            try equal(read.watch.order, first, "the stored order")
            let payment = try bench.some(joined.first?.payment, "the payment")
            try equal(payment, read.payment, "the payment")
            // A closed watch starts again for any order.
            _ = try await bench.watches.cancel(key)
            let again = try await bench.watches.enqueue([try NewWatch(key: key, order: second)])
            try equal(again.first?.outcome, .restarted, "outcome for a closed watch")
        },
        Case("of two orders for one source in a call, the first applies") { bench in
            let key = bench.key("1")
            let (first, second) = (OrderID(unchecked: "A77"), OrderID(unchecked: "B78"))
            let results = try await bench.watches.enqueue(
                try [first, second].map { try NewWatch(key: key, order: $0) }
            )
            try equal(results.map(\.outcome), [.created, .refused(.otherOrder(first))], "outcomes")
            try equal(try await bench.snapshot(key).watch.order, first, "the order")
        },
        Case("a watch reopened by a hint keeps its order") { bench in
            let key = bench.key("1")
            let order = OrderID(unchecked: "A77")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
            try await bench.handle(key, .close(.expired))
            try bench.expect(try await bench.watches.hint(key), "the hint did not reopen the watch")
            try equal(try await bench.take(key).item.order, order, "the order")
        },
    ]

    /// The order store.
    static let orders: [ConformanceCase] = [
        Case("an order is read as stored, and each version is written once") { bench in
            let key = bench.order("A77")
            try equal(try await bench.redis.orders.order(key), nil, "at first")
            var order = Order(key: key)
            _ = order.note(bench.key("1"), seq: 3, bench.payment(.failed))
            _ = order.take(bench.key("1"), seq: 3)
            try bench.expect(try await bench.store(order, over: 0), "the first")
            let known = try bench.some(try await bench.redis.orders.order(key), "the order")
            try equal(known.members, order.members, "members")
            try equal(known.right, order.right, "the right")
            try equal(known.version, 2, "version")
            try bench.expect(known.createdAt != nil, "the order has no creation time")
            try bench.expect(
                !(try await bench.store(order, over: 0)),
                "a write over an older version was accepted"
            )
            var later = known
            _ = later.note(bench.key("2"), seq: 1, bench.payment(.paid))
            try bench.expect(try await bench.store(later, over: 2), "the next")
            var other = known
            _ = other.note(bench.key("3"), seq: 1, bench.payment(.paid))
            try bench.expect(
                !(try await bench.store(other, over: 2)),
                "a second write over a version was accepted"
            )
            try equal(try await bench.redis.orders.order(key), later, "the stored order")
            let closed = try await bench.watches.stats().closed
            try equal(closed, 0, "closed watches")
        },
        Case("the events of an order are recorded with it, once and in order") { bench in
            let service = OrderService(try bench.redis.orders)
            let key = bench.order("A77")
            let paid = bench.paymentEvent(.paid, by: bench.key("1"), seq: 1)
            let first = try await service.note(paid)
            try equal(first.map(\.type), ["order.paid"], "the first")
            try equal(try await service.note(paid).count, 0, "events of a repeat")
            let second = try await service.note(
                bench.paymentEvent(.paid, by: bench.key("2"), seq: 4)
            )
            try equal(second.map(\.type), ["order.paid", "order.paid_twice"], "the second")
            let published = (first + second).map(\.json)
            let log = try await bench.watches.events(of: key.watch, after: 0, limit: 10)
            try equal(log.map(\.json), published, "log")
            try equal(log.map(\.seq), [1, 2, 3], "seq")
            let entries = try await bench.entries(of: key.watch)
            try equal(entries.map(\.event.json), published, "outbox")
            let order = try bench.some(try await bench.redis.orders.order(key), "the order")
            try equal(order.seq, 3, "the order's seq")
            try equal(order.createdAt, paid.polledAt, "its creation time")
            try await bench.outOfOrder("event 1 after 3") {
                _ = try await bench.redis.orders.store(order, over: order.version, recording: first)
            }
        },
        Case("one of two requests for the right to charge is granted") { bench in
            let service = OrderService(try bench.redis.orders)
            let watches = ["1", "2"].map { bench.watch($0, of: "A77") }
            try equal(try await service.take(watches[0]), .granted(1), "the first")
            let other = try await service.take(watches[1])
            try equal(other, .refused(watches[0].key), "the second")
            _ = try await service.note(bench.paymentEvent(.failed, by: watches[0].key, seq: 1))
            try equal(try await service.take(watches[1]), .granted(2), "after a failure")
            let elsewhere = try await service.take(bench.watch("1", of: "B78"))
            try equal(elsewhere, .granted(1), "the right for another order")
        },
        Case("a failure after the grant frees the right though the clock is set back") { bench in
            let service = OrderService(try bench.redis.orders)
            let (first, second) = (bench.watch("1", of: "A77"), bench.watch("2", of: "A77"))
            let failed = bench.paymentEvent(.failed, by: first.key, seq: 1)
            let granted = failed.polledAt + .seconds(5)
            try equal(try await service.take(first, at: granted), .granted(1), "the first")
            _ = try await service.note(failed)
            let next = try await service.take(second, at: failed.polledAt)
            try equal(next, .granted(2), "after the failure")
        },
        Case("a right that was released is granted to another attempt") { bench in
            let service = OrderService(try bench.redis.orders)
            let (first, second) = (bench.watch("1", of: "A77"), bench.watch("2", of: "A77"))
            try equal(try await service.take(first), .granted(1), "the first")
            try await service.release(1, of: second)
            let kept = try await service.take(second)
            try equal(kept, .refused(first.key), "before the release")
            try await service.release(1, of: first)
            try equal(try await service.take(second), .granted(1), "after the release")
            // Another poll with the same right may have charged.
            try equal(try await service.take(second), .granted(1), "the same again")
            try await service.release(1, of: second)
            let lost = try await service.take(first)
            try equal(lost, .refused(second.key), "after two polls with one right")
        },
        Case("one of many simultaneous requests for the right to charge is granted") { bench in
            let service = OrderService(try bench.redis.orders)
            var granted: [WatchKey] = []
            try await withThrowingTaskGroup(of: WatchKey?.self) { group in
                for number in 0..<12 {
                    let watch = bench.watch("\(number)", of: "A77")
                    group.addTask {
                        try await service.take(watch) == .granted(1) ? watch.key : nil
                    }
                }
                for try await key in group { granted += [key].compactMap(\.self) }
            }
            try equal(granted.count, 1, "granted to \(granted.map(\.source))")
            let order = try await bench.redis.orders.order(bench.order("A77"))
            try equal(order?.right?.holder, granted.first, "the holder of the right")
        },
        Case("an order is no watch: it is never due, listed or reopened") { bench in
            let key = bench.order("A77")
            _ = try await OrderService(bench.redis.orders).take(bench.watch("1", of: "A77"))
            try equal(try await bench.due(key.watch), [], "due")
            let page = try await bench.watches.list(ListQuery())
            try equal(page.items.map(\.watch.key), [], "the watches")
            try bench.expect(
                !(try await bench.watches.hint(key.watch)),
                "a hint reopened the order"
            )
            try bench.expect(
                !(try await bench.watches.cancel(key.watch)),
                "the order was cancelled"
            )
            try bench.expect(
                !(try await bench.watches.redrive(key.watch)),
                "the order was redriven"
            )
        },
        Case("orders are listed by account, the newest first, page by page") { bench in
            let service = OrderService(try bench.redis.orders)
            for name in ["A1", "A2", "A3", "A4", "A5"] {
                _ = try await service.take(bench.watch(name, of: name))
                try await bench.advance(ms: 10)
            }
            _ = try await service.take(bench.watch("1", of: "B1", account: "acct_b"))
            let paid = bench.paymentEvent(.paid, by: bench.key("A2"), seq: 1, of: "A2")
            _ = try await service.note(paid)
            var names: [String] = []
            var cursor: String?
            let account = bench.key("1").account
            repeat {
                let query = OrderQuery(account: account, limit: 2, cursor: cursor)
                let page = try await bench.redis.orders.orders(query)
                names += page.items.map(\.key.order.description)
                cursor = page.next
            } while cursor != nil && names.count < 9
            try equal(names, ["A5", "A4", "A3", "A2", "A1"], "the orders")
            let query = OrderQuery(account: account, state: .paid)
            let found = try await bench.redis.orders.orders(query).items
            try equal(found.map(\.key.order.description), ["A2"], "paid orders")
        },
        Case("orders that were paid more than once can be listed") { bench in
            let service = OrderService(try bench.redis.orders)
            for (order, tries) in [("A1", ["1"]), ("A2", ["2", "3"]), ("A3", [])] {
                _ = try await service.take(bench.watch("0\(order)", of: order))
                for name in tries {
                    _ = try await service.note(
                        bench.paymentEvent(.paid, by: bench.key(name), seq: 1, of: order)
                    )
                }
                try await bench.advance(ms: 10)
            }
            let query = OrderQuery(account: bench.key("1").account, isPaidTwice: true)
            let found = try await bench.redis.orders.orders(query).items
            try equal(found.map(\.key.order.description), ["A2"], "orders paid twice")
        },
        Case("an order is purged like a closed watch, after its last change") { bench in
            let service = OrderService(try bench.redis.orders)
            let key = bench.order("A77")
            let home = bench.partition(of: key.watch)
            _ = try await service.take(bench.watch("1", of: "A77"))
            for isKept in [true, false] {
                if isKept {
                    _ = try await service.note(
                        bench.paymentEvent(.paid, by: bench.key("2"), seq: 1)
                    )
                }
                try await bench.advance(ms: 3000)
                _ = try await bench.claim(in: home)
                let retention = Duration.seconds(isKept ? 4 : 2)
                while try await bench.watches.purge(partition: home, retention: retention) {}
                try equal(
                    try await bench.redis.orders.order(key) != nil,
                    isKept,
                    "whether the order exists"
                )
            }
            let query = OrderQuery(account: key.account)
            try equal(try await bench.redis.orders.orders(query).items.count, 0, "listed")
        },
    ]
}

extension ConformanceBench {
    func order(_ name: String, account: String = "acct_a") -> OrderKey {
        OrderKey(
            account: AccountID(unchecked: account),
            order: OrderID(unchecked: name)
        )
    }

    func payment(_ state: PaymentState) -> Payment {
        Payment(
            state: state,
            amount: 1099,
            amountReceived: state.wasPaid ? 1099 : 0,
            currency: "eur",
            paidAt: state.wasPaid ? Timestamp(ms: 1_795_165_200_125) : nil
        )
    }

    /// Creates a watch that pays an order.
    func watch(
        _ source: String,
        of order: String,
        account: String = "acct_a",
        seq: Int = 0
    ) -> Watch {
        let start = Timestamp(ms: 1_795_165_200_125)
        return Watch(
            key(source, account: account),
            createdAt: start,
            deadline: start + .seconds(60),
            seq: seq,
            order: OrderID(unchecked: order)
        )
    }

    /// Creates the event in which a watch has reported its payment.
    func paymentEvent(
        _ state: PaymentState,
        by key: WatchKey,
        seq: Int,
        of order: String = "A77"
    ) -> Event {
        let name = String(key.source.description.dropFirst(4))
        return Event(
            watch(name, of: order, account: key.account.description, seq: seq - 1),
            of: .payment(state),
            payment: payment(state),
            polledAt: Timestamp(ms: 1_795_165_300_125)
        )
    }

    func store(_ order: Order, over version: Int) async throws -> Bool {
        try await redis.orders.store(order, over: version, recording: [])
    }
}
