import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerDeliveries

@Suite("OrderUpdater", .timeLimit(.minutes(5)))
struct OrderUpdaterTests {
    private let rig = WorkerRig()
    private let order = OrderID(unchecked: "A77")

    @Test("one account probes an unavailable order partition at intervals for all accounts")
    func oneAsks() async throws {
        let keys = orderHome().prefix(20).map { Sample.key("src_1", account: $0.description) }
        try #require(keys.count == 20)
        _ = try await rig.store.enqueue(keys.map { try NewWatch(key: $0, order: order) })
        try await commitAllPaid()
        let isAway = Shared(true)
        let orders = SilentOrders(clock: rig.clock, isAway: isAway)
        let reader = OutboxReader(
            rig.store,
            MemoryDeliveryQueue(time: ClockTime(rig.clock)),
            orders: OrderService(orders.orderStore),
            clock: rig.clock
        )
        try await running(reader.run) {
            try await eventually("all have asked") { orders.asked.value == 20 }
            try await rig.timePasses(by: .milliseconds(100), until: "it is away for long") {
                rig.clock.now >= .init(offset: .seconds(40))
            }
            #expect(orders.asked.value <= 23, "each 15 s, since the first have waited 5 s")
            isAway.change { $0 = false }
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
    }

    @Test("the next batch is long only if few events concern orders and they are small")
    func batchLimit() async throws {
        let orders = SilentOrders(clock: rig.clock, isAway: Shared(false))
        let reader = OutboxReader(
            rig.store,
            MemoryDeliveryQueue(time: ClockTime(rig.clock)),
            orders: OrderService(orders.orderStore),
            clock: rig.clock
        )
        let watches = try (0..<8).map { number in
            try NewWatch(key: Sample.key("src_\(number)"), order: number < 4 ? order : nil)
        }
        _ = try await rig.store.enqueue(watches)
        for watch in watches { _ = try await rig.store.cancel(watch.key) }
        var entries: [OutboxEntry] = []
        for partition in 0..<rig.store.partitions {
            entries += try await rig.store.entries(partition: partition, after: "0", limit: 9)
        }
        let ordered = entries.filter { $0.event.order != nil }
        let others = entries.filter { $0.event.order == nil }
        try #require(ordered.count == 4 && others.count == 4)
        #expect(reader.nextBatch(after: others) == 512)
        #expect(reader.nextBatch(after: others + ordered.prefix(1)) == 512)
        #expect(reader.nextBatch(after: others + ordered.prefix(2)) == 128)
        #expect(reader.nextBatch(after: ordered) == 128)
        let note = String(repeating: "x", count: 20_000)
        let event = Samples.event(object: #"{"id":"src_1","note":"\#(note)"}"#)
        let long = OutboxEntry(id: "1-0", partition: 0, event: event, notify: [])
        #expect(reader.nextBatch(after: [long]) == 128)
    }

    @Test("events without an order are marked before an unavailable order partition is probed")
    func unconcerned() async throws {
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        let account = try #require(orderHome().first).description
        let watch = Sample.key("src_1", account: account)
        let other = Sample.key("src_2", account: account)
        _ = try await rig.store.enqueue([try NewWatch(key: watch, order: order)])
        try await commitAllPaid()
        let isAway = Shared(true)
        let orders = SilentOrders(clock: rig.clock, isAway: isAway)
        let plan = FaultPlan()
        let reader = OutboxReader(
            FaultyStore(rig.store, plan: plan),
            deliveries,
            orders: OrderService(orders.orderStore),
            clock: rig.clock
        )
        try await running(reader.run) {
            try await eventually("it is asked") { orders.asked.value == 1 }
            // The store stays down so that the next batch has both events.
            plan.setDown(true)
            try await rig.timePasses(by: .milliseconds(100), until: "it may be asked again") {
                rig.clock.now >= .init(offset: .seconds(21))
            }
            let url = try NotifyURL("https://a.example/")
            _ = try await rig.store.enqueue([try NewWatch(key: other, notify: [url])])
            _ = try await rig.store.cancel(other)
            plan.setDown(false)
            try await rig.timePasses(until: "it is asked again") { orders.asked.value == 2 }
            #expect(try await deliveries.stats().pending == 1)
            isAway.change { $0 = false }
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await deliveries.stats().pending == 1)
    }

    /// Returns accounts with orders in one partition.
    private func orderHome() -> [AccountID] {
        (0..<99).map { AccountID(unchecked: "acct_\($0)") }.filter {
            rig.store.partition(of: LaneID(account: $0, kind: .order)) == 0
        }
    }

    /// Commits a paid payment for every watch.
    private func commitAllPaid() async throws {
        for partition in 0..<2 {
            let claim = try await rig.store.claim(ClaimRequest(partition: partition))
            for lease in claim.leases {
                let event = Event(
                    lease.item,
                    of: .payment(.paid),
                    final: true,
                    closed: .settled,
                    payment: Payment(
                        state: .paid,
                        amount: 1099,
                        amountReceived: 1099,
                        currency: "eur"
                    ),
                    isLive: true,
                    polledAt: VirtualTime.start
                )
                let change = WatchChange(state: lease.item.state, event: event)
                let commit = Commit(ref: lease.ref, verdict: .close(.settled), change: change)
                #expect(try await rig.store.commit([commit]) == [.done])
            }
        }
    }
}

/// Orders with reads that fail after five seconds during an outage.
private struct SilentOrders {
    let orderStore: FakeOrderStore
    /// Reads during the outage.
    let asked = Shared(0)

    init(clock: ManualClock, isAway: Shared<Bool>) {
        let asked = asked
        orderStore = FakeOrderStore { () async throws(StoreError) in
            guard isAway.value else { return }
            asked.change { $0 += 1 }
            // A cancelled read fails at once, as a call to Redis does.
            try? await clock.sleep(for: .seconds(5))
            throw .unavailable("the orders' shard does not answer")
        }
    }
}
