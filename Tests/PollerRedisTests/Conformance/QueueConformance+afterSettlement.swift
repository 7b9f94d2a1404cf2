import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches

private let hour = Duration.seconds(3600)
private let day = hour * 24

extension QueueConformance {
    /// The retention of closed watches whose money may go back.
    static let afterSettlement: [ConformanceCase] = [
        Case("a refundable payment is kept without its log, and a money hint reopens it") {
            bench in
            let key = bench.key("card")
            try await bench.enqueue(key, notify: ["https://a.example/"])
            let memory = try await bench.pay(key, comesBackWithin: day * 150)
            let before = try await bench.watches.stats()
            try await bench.harness.advance(by: day * 31)
            try await bench.purge(key)
            let kept = try await bench.snapshot(key)
            try equal(kept.closed, .settled, "closed")
            try equal(kept.lastEvent, nil, "the last event")
            try equal(kept.payment?.state, .paid, "the payment state")
            try equal(kept.payment?.amountReceived, 1099, "the amount received")
            try equal(kept.notify.count, 1, "the endpoints")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log, [], "the log")
            try equal(try await bench.watches.stats().closed, before.closed, "counted")
            let listed = try await bench.list(ListQuery(state: .closed, payment: .paid))
            try equal(listed.map(\.watch.key), [key], "listed")
            try equal(try await bench.harness.audit(), [], "audit")
            try equal(try await bench.due(key), [], "due")

            // A dispute on day 60.
            try await bench.harness.advance(by: day * 29)
            try await bench.purge(key)
            try equal(try await bench.watches.hint(key, of: .money), true, "the hint")
            let lease = try await bench.take(key)
            try equal(lease.item.payment, memory, "the stored payment")
            try bench.expect(lease.item.isReview, "the poll is not a review")
            let look = bench.look(lease, [.payment(.disputed)], memory)
            try equal(try await bench.watches.commit([look]), [.done], "the commit")
            let recorded = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(recorded.map(\.seq), [2], "the log")
            let entries = try await bench.entries(of: key)
            try equal(entries.last?.event.seq, 2, "the outbox")
            try equal(entries.last?.notify.count, 1, "the endpoints")
            try equal(try await bench.harness.audit(), [], "audit")

            // Events recorded then are kept as long as any others, and the watch until the last day is over.
            try await bench.harness.advance(by: day * 29)
            try await bench.purge(key)
            let young = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(young.map(\.seq), [2], "the log after the second close")
            try await bench.harness.advance(by: day * 60)
            try await bench.purge(key)
            try equal(
                try await bench.snapshot(key).lastEvent,
                nil,
                "the last event after its retention"
            )
            try await bench.harness.advance(by: day * 2)
            try await bench.purge(key)
            try equal(try await bench.watches.snapshot(of: key), nil, "after the retention")
        },
        Case(
            "only refundable payments are kept after the retention, for 180 days at most"
        ) { bench in
            let card = bench.key("card")
            let home = bench.partition(of: card)
            try await bench.enqueue(card)
            _ = try await bench.pay(card, comesBackWithin: day * 400)
            let (ideal, poison, stopped) = (bench.key("i"), bench.key("p"), bench.key("s"))
            for (key, verdict, span) in [
                (ideal, Verdict.close(.settled), nil), (poison, .close(.dead), day * 150),
            ] {
                try await bench.enqueue(key)
                _ = try await bench.pay(key, verdict, comesBackWithin: span)
            }
            try await bench.enqueue(stopped)
            _ = try await bench.pay(stopped, .next(after: hour), comesBackWithin: day * 150)
            _ = try await bench.watches.cancel(stopped)
            try await bench.harness.advance(by: day * 31)
            try await bench.purge(card)
            for key in [ideal, poison, stopped] {
                let kept = try await bench.watches.snapshot(of: key)
                try equal(kept, nil, "\(key.source)")
            }
            try equal(try await bench.watches.stats().quarantined, 0, "in quarantine")
            try await bench.harness.advance(by: day * 148)
            try await bench.purge(card)
            _ = try await bench.snapshot(card)
            try await bench.harness.advance(by: day * 2)
            try await bench.purge(card)
            try equal(try await bench.watches.snapshot(of: card), nil, "after 180 days")

            // Without this retention, all watches are removed alike.
            try await bench.enqueue(card)
            _ = try await bench.pay(card, comesBackWithin: day * 400)
            try await bench.harness.advance(by: day * 31)
            while try await bench.watches.purge(partition: home, retention: day * 30) {}
            try equal(
                try await bench.watches.snapshot(of: card),
                nil,
                "without the longer retention"
            )
        },
        Case("a kept watch continues its run and seq when it is enqueued again") { bench in
            let key = try await bench.enqueued("card")
            _ = try await bench.pay(key, comesBackWithin: day * 150)
            try await bench.harness.advance(by: day * 31)
            try await bench.purge(key)
            let result = try await bench.enqueue(key)
            try equal([result.run, result.seq], [2, 1], "run and seq")
            try await bench.handle(key, .close(.settled), status: "b")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log.map(\.seq), [2], "the log")
            try equal(try await bench.harness.audit(), [], "audit")
            // No payment is stored for this run.
            try await bench.harness.advance(by: day * 31)
            try await bench.purge(key)
            try equal(try await bench.watches.snapshot(of: key), nil, "after the retention")
        },
    ]

    /// The retention of an order.
    static let orderAfterlife: [ConformanceCase] = [
        Case("an order is kept while the payment of one of its attempts may be refunded") { bench in
            let key = try await bench.enqueued("1")
            let now = try await bench.take(key).claimedAt
            let service = OrderService(try bench.redis.orders)
            for (name, method) in [("A1", "card"), ("A2", "ideal")] {
                let payment = Payment(
                    state: .paid,
                    amount: 1099,
                    amountReceived: 1099,
                    method: PaymentMethod(method),
                    paidAt: now
                )
                _ = try await service.note(
                    Event(
                        bench.watch(name, of: name),
                        of: .payment(.paid),
                        payment: payment,
                        polledAt: now
                    )
                )
            }
            _ = try await bench.watches.cancel(key)
            let order = bench.order("A1")
            try await bench.harness.advance(by: day * 31)
            try await bench.purge(order.watch)
            let kept = try await bench.redis.orders.order(order)
            try equal(kept?.members.count, 1, "its attempts")
            try equal(try await bench.redis.orders.order(bench.order("A2")), nil, "another order")
            let query = OrderQuery(account: order.account)
            try equal(try await bench.redis.orders.orders(query).items.count, 1, "listed")
            try await bench.harness.advance(by: day * 121)
            try await bench.purge(order.watch)
            try equal(try await bench.redis.orders.order(order), nil, "after the retention")
        },
        Case("an order is kept for its newest payment, however old the order is") { bench in
            let service = OrderService(try bench.redis.orders)
            let order = bench.order("A1")
            let home = bench.partition(of: order.watch)
            for name in ["1", "2"] {
                let now = try await bench.claim(in: home).now
                let payment = Payment(
                    state: .paid,
                    amount: 1099,
                    amountReceived: 1099,
                    method: PaymentMethod("card"),
                    paidAt: now
                )
                _ = try await service.note(
                    Event(
                        bench.watch(name, of: "A1"),
                        of: .payment(.paid),
                        payment: payment,
                        polledAt: now
                    )
                )
                try await bench.harness.advance(by: day * 100)
                try await bench.purge(order.watch)
            }
            // A card payment may go back for 150 days, and is kept for 180 days after its last poll at most.
            let kept = try await bench.redis.orders.order(order)
            try equal(kept?.members.count, 2, "its attempts on day 200")
            try await bench.harness.advance(by: day * 52)
            try await bench.purge(order.watch)
            try equal(try await bench.redis.orders.order(order), nil, "after the retention")
        },
        Case("the age of an order counts from the end or the restart of an attempt") { bench in
            let service = OrderService(try bench.redis.orders)
            let order = bench.order("A1")
            let home = bench.partition(of: order.watch)
            let (first, last) = (bench.watch("1", of: "A1"), bench.watch("1", of: "A1", seq: 1))
            let payment = bench.payment(.authorised)
            let now = try await bench.claim(in: home).now
            _ = try await service.note(
                Event(first, of: .payment(.authorised), payment: payment, polledAt: now)
            )
            try await bench.harness.advance(by: day * 20)
            let end = try await bench.claim(in: home).now
            _ = try await service.note(
                Event(last, closed: .expired, payment: payment, polledAt: end)
            )
            try await bench.harness.advance(by: day * 20)
            try await bench.purge(order.watch)
            let ended = try await bench.redis.orders.order(order)
            try equal(ended?.members.map(\.seq), [2], "the attempt that has ended")
            let enqueuer = Enqueuer(
                watches: bench.watches,
                deliveries: bench.deliveries,
                orders: service
            )
            _ = try await enqueuer.enqueue([try NewWatch(key: first.key, order: order.order)])
            _ = try await bench.watches.cancel(first.key)
            try await bench.harness.advance(by: day * 20)
            try await bench.purge(order.watch)
            try equal(try await bench.redis.orders.order(order), ended, "after the restart")
            try await bench.harness.advance(by: day * 11)
            try await bench.purge(order.watch)
            try equal(try await bench.redis.orders.order(order), nil, "after the retention")
        },
    ]
}

extension ConformanceBench {
    /// Purges the partition of a watch as a cluster does by default.
    fileprivate func purge(_ key: WatchKey) async throws {
        let home = partition(of: key)
        // A claim keeps the store's clock current.
        _ = try await claim(in: home)
        while try await watches.purge(
            partition: home,
            retention: day * 30,
            refundableRetention: RetentionSpans.refundableRetentionStandard
        ) {}
    }

    /// Commits a poll that has seen money, which may go back within a span; returns the stored payment.
    fileprivate func pay(
        _ key: WatchKey,
        _ verdict: Verdict = .close(.settled),
        comesBackWithin span: Duration?
    ) async throws -> PaymentMemory {
        let lease = try await take(key)
        let memory = PaymentMemory(
            object: "abc-_1",
            payment: "k3f9a2",
            money: money,
            changesUntil: span.map { lease.claimedAt + $0 }
        )
        let commit = look(lease, [.status], memory, verdict)
        try equal(try await watches.commit([commit]), [.done], "the commit of a payment")
        return memory
    }

    /// Creates the commit of a poll, with its time.
    fileprivate func look(
        _ lease: Lease<Watch>,
        _ subjects: [EventSubject],
        _ memory: PaymentMemory,
        _ verdict: Verdict = .close(.settled)
    ) -> Commit<WatchChange> {
        let commit = eventCommit(lease, subjects, verdict, memory)
        var state = commit.change.state
        state.lastPolledAt = lease.claimedAt
        let change = WatchChange(state: state, payment: memory, events: commit.change.events)
        return Commit(ref: commit.ref, verdict: verdict, change: change)
    }
}
