import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("OrderService")
struct OrderServiceTests {
    private let rig = WorkerRig()
    private let key = OrderKey(account: .main, order: OrderID(unchecked: "A77"))

    private let orderStore = FakeOrderStore()

    private var service: OrderService { OrderService(orderStore) }

    private func member(_ name: String) -> WatchKey {
        Sample.key("src_\(name)", account: "default")
    }

    private func event(
        _ name: String,
        of subject: EventSubject,
        seq: Int = 1,
        order: OrderID? = OrderID(unchecked: "A77"),
        payment: PaymentState = .paid,
        after span: Duration = .zero
    ) -> Event {
        let watch = Watch(
            member(name),
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start + .seconds(60),
            seq: seq - 1,
            order: order
        )
        return Event(
            watch,
            of: subject,
            payment: Payment(
                state: payment,
                amount: 1099,
                amountReceived: payment == .paid ? 1099 : 0,
                currency: "eur"
            ),
            isLive: true,
            polledAt: VirtualTime.start + span
        )
    }

    @Test("the service records the payments of orders, and no others")
    func notes() async throws {
        #expect(try await service.note(event("1", of: .payment(.paid), order: nil)).isEmpty)
        #expect(try await orderStore.order(key) == nil)
        let reported = try await service.note(event("1", of: .payment(.paid)))
        #expect(reported.map(\.type) == ["order.paid"])
        let first = try #require(reported.first)
        #expect(first.key == key.watch && first.order == key.order && first.isLive == true)
        #expect(first.payment?.amountReceived == 1099 && first.closed == nil && !first.final)
        // An event of the order itself does not change a member.
        #expect(try await service.note(first).isEmpty)
    }

    @Test("the payment of a watch that was purged and enqueued again is noted")
    func reborn() async throws {
        func note(_ seq: Int, _ state: PaymentState, _ span: Duration) async throws -> [String] {
            let subject = EventSubject.payment(state)
            let event = event("1", of: subject, seq: seq, payment: state, after: span)
            return try await service.note(event).map(\.type)
        }
        #expect(try await note(3, .failed, .seconds(30)) == ["order.failed"])
        #expect(try await note(1, .authorised, .seconds(90)) == ["order.authorised"])
        #expect(try await note(3, .paid, .seconds(110)) == ["order.paid"])
        // A repeat of an earlier event changes nothing.
        #expect(try await note(1, .authorised, .seconds(90)).isEmpty)
    }

    @Test("a later event tells an order of a payment if the payment's own event does not name it")
    func missed() async throws {
        #expect(try await service.note(event("1", of: .payment(.paid), order: nil)).isEmpty)
        let last = event("1", of: .status, seq: 2)
        #expect(try await service.note(last).map(\.type) == ["order.paid"])
        let known = try #require(try await orderStore.order(key))
        #expect(known.summary.payment.state == .paid)
        // Once the payment is known, another event writes nothing.
        let again = event("1", of: .status, seq: 3)
        #expect(try await service.note(again).isEmpty)
        #expect(try await orderStore.order(key) == known)
    }

    @Test("a refund that has not succeeded is noted, so that its order is kept like its payment")
    func refund() async throws {
        func event(_ refund: RefundProgress?, of subject: EventSubject, seq: Int) -> Event {
            Event(
                Watch(
                    member("1"),
                    createdAt: VirtualTime.start,
                    deadline: VirtualTime.start + .seconds(60),
                    seq: seq - 1,
                    order: key.order
                ),
                of: subject,
                payment: Payment(
                    state: .paid,
                    amount: 1099,
                    amountReceived: 1099,
                    method: PaymentMethod("customer_balance"),
                    paidAt: VirtualTime.start,
                    refund: refund
                ),
                polledAt: VirtualTime.start
            )
        }
        _ = try await service.note(event(nil, of: .payment(.paid), seq: 1))
        #expect(try await orderStore.order(key)?.memory == nil)
        let asked = RefundProgress(.requiresAction, 1099)
        let reported = try await service.note(event(asked, of: .refund(.requiresAction), seq: 2))
        #expect(reported.isEmpty)
        let known = try #require(try await orderStore.order(key))
        #expect(known.summary.payment.refund == asked)
        #expect(known.memory?.changesUntil ?? VirtualTime.start > VirtualTime.start + .seconds(60))
        // The payment's event of the same poll may have reported it already.
        _ = try await service.note(event(asked, of: .refund(.requiresAction), seq: 3))
        #expect(try await orderStore.order(key) == known)
    }

    @Test("an event keeps its order in JSON, and an event without an order has no such member")
    func wire() throws {
        let event = event("1", of: .payment(.paid))
        let back = try #require(Event(json: event.json))
        #expect(back.order == key.order && back == event)
        #expect(
            event.json.contains(#""order":"A77""#) && event.thinJSON.contains(#""order":"A77""#)
        )
        #expect(!self.event("1", of: .status, order: nil).json.contains("order"))
    }

    @Test("an order exists as soon as a watch names it, with the watch's last payment")
    func joins() async throws {
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        let enqueuer = Enqueuer(watches: rig.store, deliveries: deliveries, orders: service)
        func enqueue(_ name: String, _ order: OrderID?) async throws {
            _ = try await enqueuer.enqueue([try NewWatch(key: member(name), order: order)])
        }
        try await enqueue("1", key.order)
        let known = try #require(try await orderStore.order(key))
        #expect(known.members.map(\.key) == [member("1")])
        #expect(known.summary.payment.state == .awaitingCustomer && known.seq == 0)
        // Enqueueing again, and a watch without an order, change nothing.
        try await enqueue("1", key.order)
        try await enqueue("2", nil)
        #expect(try await orderStore.order(key) == known)
        // The watch keeps its first order.
        try await enqueue("1", OrderID(unchecked: "B78"))
        let other = OrderKey(account: .main, order: OrderID(unchecked: "B78"))
        #expect(try await orderStore.order(other) == nil)
        // A watch without an order joins with the first one that it is given.
        try await enqueue("2", key.order)
        #expect(try await orderStore.order(key)?.members.map(\.key) == [member("1"), member("2")])
    }

    @Test("a paid watch that joins an order pays it at once, and the order reports that once")
    func joinsPaid() async throws {
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        let enqueuer = Enqueuer(watches: rig.store, deliveries: deliveries, orders: service)
        _ = try await enqueuer.enqueue([try NewWatch(key: member("1"))])
        try await commitPaid(.next(after: .seconds(60)), order: nil)
        for isReading in [false, true] {
            let watch = try NewWatch(key: member("1"), order: key.order)
            _ = try await enqueuer.enqueue([watch], reading: isReading)
            #expect(orderStore.events.map(\.type) == ["order.paid"])
        }
        // A repeat reads no watch, because the order knows the payment.
        let plan = FaultPlan()
        plan.fail(.read, [.refused])
        let repeating = Enqueuer(
            watches: FaultyStore(rig.store, plan: plan),
            deliveries: deliveries,
            orders: service
        )
        _ = try await repeating.enqueue([try NewWatch(key: member("1"), order: key.order)])
        #expect(plan.failures == 0)
        let known = try #require(try await orderStore.order(key))
        #expect(known.summary.payment.state == .paid && known.seq == 1)
        #expect(orderStore.events.first?.isLive == true)
        // Another attempt that is paid already is a duplicate.
        _ = try await enqueuer.enqueue([try NewWatch(key: member("2"))])
        try await commitPaid(.next(after: .seconds(60)), by: "2", order: nil)
        _ = try await enqueuer.enqueue([try NewWatch(key: member("2"), order: key.order)])
        #expect(orderStore.events.map(\.type) == ["order.paid", "order.paid", "order.paid_twice"])
    }

    @Test("the outbox reader records each payment once, and acknowledges the resulting event")
    func outbox() async throws {
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        _ = try await rig.store.enqueue([try NewWatch(key: member("1"), order: key.order)])
        let reader = OutboxReader(rig.store, deliveries, orders: service, clock: rig.clock)
        try await running(reader.run) {
            // The reader has read everything, and waits for new entries.
            await rig.clock.waitForSleepers(1)
            try await commitPaid()
            try await eventually("the order is paid") {
                try await orderStore.order(key)?.summary.payment.state == .paid
            }
            try await eventually("all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(orderStore.events.map(\.type) == ["order.paid"])
    }

    @Test("an account with unavailable orders is delivered later, and all others in time")
    func away() async throws {
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        let url = try NotifyURL("https://a.example/")
        let home = rig.store.partition(of: member("1").lane)
        let other = try #require(
            (1..<99).lazy.map { Sample.key(account: "acct_\($0)") }
                .first { rig.store.partition(of: $0.lane) == home }
        )
        let first = try NewWatch(key: member("1"), notify: [url], order: key.order)
        _ = try await rig.store.enqueue([first])
        try await commitPaid(.next(after: .seconds(60)))
        // This event changes no order, but must not be delivered before the earlier one.
        _ = try await rig.store.cancel(member("1"))
        _ = try await rig.store.enqueue([try NewWatch(key: other, notify: [url])])
        _ = try await rig.store.cancel(other)
        let isAway = Shared(true)
        let orderStore = FakeOrderStore { () throws(StoreError) in
            if isAway.value { throw .unavailable("the orders' shard does not answer") }
        }
        let reader = OutboxReader(
            rig.store,
            deliveries,
            orders: OrderService(orderStore),
            clock: rig.clock
        )
        try await running(reader.run) {
            try await eventually("the other is told") {
                try await rig.store.stats().undelivered == 2
            }
            #expect(try await deliveries.stats().pending == 1)
            #expect(rig.clock.now == .init(offset: .zero))
            isAway.change { $0 = false }
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await deliveries.stats().pending == 2)
        #expect(try await orderStore.order(key)?.summary.payment.state == .paid)
    }

    /// Commits a paid payment for a watch that is due, by default the first one.
    private func commitPaid(
        _ verdict: Verdict = .close(.settled),
        by name: String = "1",
        order: OrderID? = OrderID(unchecked: "A77")
    ) async throws {
        let claim = try await rig.store.claim(
            ClaimRequest(partition: rig.store.partition(of: member(name).lane), limit: 10)
        )
        let lease = try #require(claim.leases.first { $0.item.key == member(name) })
        let change = WatchChange(
            state: lease.item.state,
            event: event(name, of: .payment(.paid), seq: lease.item.seq + 1, order: order)
        )
        let commit = Commit(ref: lease.ref, verdict: verdict, change: change)
        #expect(try await rig.store.commit([commit]) == [.done])
    }
}
