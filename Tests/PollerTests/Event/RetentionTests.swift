import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("Retention", .timeLimit(.minutes(5)))
struct RetentionTests {
    private let clock = ManualClock()
    private let plan = FaultPlan()
    private let store: MemoryStore
    private let retention:
        Retention<
            FaultyStore<MemoryStore>, FaultyStore<MemoryStore>,
            FaultyDeliveryQueue<MemoryDeliveryQueue>,
            ManualClock
        >

    init() {
        store = MemoryStore(time: ClockTime(clock))
        let deliveries = MemoryDeliveryQueue(time: ClockTime(clock))
        retention = Retention(
            outbox: FaultyStore(store, plan: plan),
            watches: FaultyStore(store, plan: plan),
            deliveries: FaultyDeliveryQueue(deliveries, plan: plan),
            spans: RetentionSpans(outbox: .seconds(3600), closed: .seconds(7200)),
            clock: clock,
            logger: Sample.quiet
        )
    }

    @Test("retention deletes old acknowledged entries, closed watches and resting deliveries")
    func forgets() async throws {
        let keys = (0..<250).map { Sample.key("src_\($0)") }
        _ = try await store.enqueue(keys.map { try NewWatch(key: $0) })
        for key in keys.dropLast() { _ = try await store.cancel(key) }
        let home = store.partition(of: keys[0].lane)
        let entries = try await store.unacknowledged(home)
        try await store.acknowledge(partition: home, entries.dropLast().map(\.id))

        plan.fail(.other, [.refused])
        try await running(retention.run) {
            await clock.waitForSleepers(1)
            #expect(try await store.stats().outbox == 249)
            clock.advance(by: .seconds(3601))
            try await eventually("old entries are gone, but for the unacknowledged") {
                try await store.stats().outbox == 1
            }
            #expect(try await store.stats().closed == 249)
            await clock.waitForSleepers(1)
            // Two hours, plus four days so that no delivery outlives its log.
            clock.advance(by: .seconds(3601 + 4 * 86_400))
            try await eventually("old watches are gone") { try await store.stats().closed == 0 }
            #expect(try await store.stats().pending == 1)
        }
    }

    @Test("a refundable payment is kept for its span after settlement", arguments: [true, false])
    func refundablePayments(isKept: Bool) async throws {
        let clock = ManualClock()
        let store = MemoryStore(time: ClockTime(clock))
        let retention = Retention(
            outbox: store,
            watches: store,
            deliveries: MemoryDeliveryQueue(time: ClockTime(clock)),
            spans: RetentionSpans(
                outbox: .seconds(3600),
                closed: .seconds(7200),
                refundableRetention: isKept ? RetentionSpans.refundableRetentionStandard : .zero
            ),
            clock: clock,
            logger: Sample.quiet
        )
        let key = Sample.key()
        _ = try await store.enqueue([try NewWatch(key: key)])
        let claim = try await store.claim(
            ClaimRequest(partition: store.partition(of: key.lane), limit: 1)
        )
        let lease = try #require(claim.leases.first)
        let memory = PaymentMemory(changesUntil: lease.claimedAt + .seconds(150 * 86_400))
        let change = WatchChange(state: WatchState(), payment: memory)
        _ = try await store.commit([
            Commit(ref: lease.ref, verdict: .close(.settled), change: change)
        ])
        clock.advance(by: .seconds(60 * 86_400))
        try await running(retention.run) {
            await clock.waitForSleepers(1)
            let known = try await store.snapshot(of: key)
            #expect((known != nil) == isKept)
        }
    }

    @Test("a delivery keeps its cursor as long as the log of its watch is kept")
    func cursors() async throws {
        let clock = ManualClock()
        let store = MemoryStore(time: ClockTime(clock))
        let deliveries = MemoryDeliveryQueue(time: ClockTime(clock))
        let retention = Retention(
            outbox: store,
            watches: store,
            deliveries: deliveries,
            spans: RetentionSpans(outbox: .seconds(3600), closed: .seconds(7200)),
            clock: clock,
            logger: Sample.quiet
        )
        let key = Sample.key()
        _ = try await store.enqueue([try NewWatch(key: key)])
        _ = try await store.cancel(key)
        try await deliver(to: key, in: deliveries)
        clock.advance(by: .seconds(7201))
        try await running(retention.run) {
            await clock.waitForSleepers(1)
            #expect(try await store.stats().closed == 1)
            #expect(try await deliveries.stats().closed == 1)
            clock.advance(by: RetentionSpans.deliveryMax)
            try await eventually("both are gone") {
                let watches = try await store.stats().closed
                let rested = try await deliveries.stats().closed
                return watches == 0 && rested == 0
            }
        }
    }

    @Test("a delivery keeps its cursor for as long as its watch is open")
    func cursorsOfOpenWatches() async throws {
        let clock = ManualClock()
        let store = MemoryStore(time: ClockTime(clock))
        let deliveries = MemoryDeliveryQueue(time: ClockTime(clock))
        let retention = Retention(
            outbox: store,
            watches: store,
            deliveries: deliveries,
            spans: RetentionSpans(outbox: .seconds(3600), closed: .seconds(7200)),
            clock: clock,
            logger: Sample.quiet
        )
        let key = Sample.key()
        _ = try await store.enqueue([try NewWatch(key: key)])
        _ = try await store.announce(MandateNotice(id: "srcmn_1"), of: key)
        try await deliver(to: key, in: deliveries)
        clock.advance(by: .seconds(60 * 86_400))
        try await running(retention.run) {
            await clock.waitForSleepers(1)
            #expect(try await deliveries.stats().closed == 1)
            _ = try await store.cancel(key)
            clock.advance(by: .seconds(60 * 86_400))
            try await eventually("the delivery is gone with the log") {
                try await deliveries.stats().closed == 0
            }
        }
    }

    /// Marks a delivery, which rests after its first event.
    private func deliver(to key: WatchKey, in deliveries: MemoryDeliveryQueue) async throws {
        let mark = DeliveryMark(url: try NotifyURL("https://a.example/hook"), watch: key)
        try await deliveries.mark([mark])
        let home = deliveries.partition(of: LaneID(endpoint: mark.endpoint))
        let claim = try await deliveries.claim(ClaimRequest(partition: home, limit: 1))
        let lease = try #require(claim.leases.first)
        let change = DeliveryChange(state: DeliveryState(cursor: 1))
        _ = try await deliveries.commit([
            Commit(ref: lease.ref, verdict: .rest, change: change)
        ])
    }

    @Test("an unavailable partition does not keep retention from the others")
    func goesOn() async throws {
        let key = Sample.key()
        _ = try await store.enqueue([try NewWatch(key: key)])
        _ = try await store.cancel(key)
        clock.advance(by: .seconds(5 * 86_400))
        // The outbox of every partition is unavailable. Later steps are available.
        plan.fail(.other, Array(repeating: .refused, count: store.partitions))
        try await running(retention.run) {
            await clock.waitForSleepers(1)
            let closed = try await store.stats().closed
            #expect(closed == 0)
        }
    }
}
