import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("repair of lost marks", .timeLimit(.minutes(5)))
struct MarkRepairTests {
    private let rig = WorkerRig()
    private let deliveries: MemoryDeliveryQueue
    private let registry: MemoryEndpointStore
    private let directory: EndpointDirectory
    private let plan = FaultPlan()

    init() {
        let time = ClockTime(rig.clock)
        deliveries = MemoryDeliveryQueue(time: time)
        registry = MemoryEndpointStore(time: time)
        directory = EndpointDirectory(store: registry, logger: Sample.quiet)
    }

    /// Reads the outbox, marks and acknowledges, as notifiers do.
    private func mark() async throws {
        let reader = OutboxReader(rig.store, deliveries, directory: directory, clock: rig.clock)
        try await running(reader.run) {
            try await eventually("all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
    }

    /// Runs the repair for both spans, with an action in between.
    private func looked(
        for span: Duration = .zero,
        then between: () async throws -> Void = {},
        for more: Duration = .zero
    ) async throws {
        let repair = MarkRepair(
            outbox: FaultyStore(rig.store, plan: plan),
            deliveries: FaultyDeliveryQueue(deliveries, plan: plan),
            directory: directory,
            clock: rig.clock,
            logger: Sample.quiet
        )
        repair.assign(Set(0..<deliveries.partitions))
        try await running(repair.run) {
            await rig.clock.waitForSleepers(1)
            try await pass(span)
            try await between()
            try await pass(more)
        }
    }

    private func pass(_ span: Duration) async throws {
        let end = rig.clock.now.advanced(by: span)
        while rig.clock.now < end {
            rig.clock.advance(by: .seconds(5))
            await rig.clock.waitForSleepers(1)
        }
    }

    /// Closes a watch with an inline URL and a registered endpoint as recipients.
    private func settle(_ source: String) async throws {
        let key = Sample.key(source)
        let url = try NotifyURL("https://inline.example/")
        _ = try await rig.store.enqueue([try NewWatch(key: key, notify: [url])])
        _ = try await rig.store.cancel(key)
    }

    /// Closes a watch whose event is acknowledged, although its marks are lost.
    private func settleUnmarked(_ source: String) async throws {
        try await settle(source)
        for partition in 0..<rig.store.partitions {
            let entries = try await rig.store.unacknowledged(
                partition: partition,
                consumer: Sample.owner,
                idle: .seconds(5),
                limit: 10
            )
            try await rig.store.acknowledge(partition: partition, entries.map(\.id))
        }
    }

    private func watermarks() async throws -> [MarkWatermark] {
        var watermarks: [MarkWatermark] = []
        for partition in 0..<deliveries.partitions {
            watermarks.append(try await deliveries.watermark(partition: partition))
        }
        return watermarks
    }

    @Test("marks lost while no repair was running are created again")
    func again() async throws {
        _ = try await registry.create(try EndpointTests.endpoint("all"), request: nil)
        try await settle("src_before")
        try await mark()
        try await looked()
        #expect(try await deliveries.stats().pending == 2)
        deliveries.checkpoint()
        rig.clock.advance(by: .seconds(3))
        try await settle("src_final")
        try await mark()
        #expect(try await deliveries.stats().pending == 4)
        deliveries.rewind()
        #expect(try await deliveries.stats().pending == 2)
        try await looked()
        #expect(try await deliveries.stats().pending == 4)
    }

    @Test("all events are marked again if a server has lost its data with the watermark")
    func emptied() async throws {
        // A replica that has not got any data yet.
        deliveries.checkpoint()
        func lose() async throws {
            try await settleUnmarked("src_late")
            deliveries.rewind()
        }
        try await looked(for: .seconds(10), then: lose, for: .seconds(40))
        #expect(try await deliveries.stats().pending == 1)
        #expect(try await watermarks().allSatisfy { $0.noted == $0.history })
    }

    @Test("marks are repaired again after a while, and then the partition is recorded as complete")
    func settles() async throws {
        try await looked()
        deliveries.checkpoint()
        deliveries.rewind()
        // An isolated former master still accepts a mark, so the entry is acknowledged.
        let late = { try await settleUnmarked("src_late") }
        try await looked(for: .seconds(10), then: late, for: .seconds(15))
        #expect(try await deliveries.stats().pending == 0)
        #expect(try await watermarks().allSatisfy { $0.noted != $0.history })
        try await looked(for: .seconds(10), then: late, for: .seconds(25))
        #expect(try await deliveries.stats().pending == 1)
        #expect(try await watermarks().allSatisfy { $0.noted == $0.history })
    }

    /// Returns two watches with outboxes in the partitions 0 and 1.
    private func sources() throws -> [String] {
        try (0..<rig.store.partitions).map { partition in
            try #require(
                (0..<99).map { "src_\($0)" }.first { source in
                    rig.store.partition(of: Sample.key(source, account: source).lane) == partition
                }
            )
        }
    }

    /// Closes a watch of a separate account.
    private func settle(alone source: String) async throws {
        let key = Sample.key(source, account: source)
        let url = try NotifyURL("https://inline.example/")
        _ = try await rig.store.enqueue([try NewWatch(key: key, notify: [url])])
        _ = try await rig.store.cancel(key)
    }

    @Test("marks are repaired from available outboxes, and from the others once they are available")
    func outboxAway() async throws {
        try await looked()
        deliveries.checkpoint()
        for source in try sources() { try await settle(alone: source) }
        try await mark()
        deliveries.rewind()
        plan.setUnreachable(outboxes: [0])
        func back() async throws {
            #expect(try await deliveries.stats().pending == 1)
            #expect(
                try await watermarks().allSatisfy { $0.noted != $0.history },
                "nobody knows what is in the other"
            )
            plan.setUnreachable(outboxes: [])
        }
        try await looked(for: .seconds(60), then: back, for: .seconds(60))
        #expect(try await deliveries.stats().pending == 2)
        #expect(try await watermarks().allSatisfy { $0.noted == $0.history })
    }

    @Test("an unavailable partition does not keep others from being recorded as complete")
    func ledgerAway() async throws {
        plan.setUnreachable(outboxes: [], ledgers: [2])
        try await looked()
        let noted = try await watermarks().map { $0.noted != nil }
        #expect(noted == [true, true, false, true])
    }

    @Test("an outbox entry that was old when it was marked is repaired as well")
    func backlog() async throws {
        try await settle("src_old")
        try await looked(for: .seconds(600))
        deliveries.checkpoint()
        // A notifier reads the entry only now.
        try await mark()
        deliveries.rewind()
        #expect(try await deliveries.stats().pending == 0)
        try await looked()
        #expect(try await deliveries.stats().pending == 1)
    }

    @Test("entries before the recorded watermark are not read again")
    func bounded() async throws {
        try await settle("src_old")
        try await mark()
        let old = try await deliveries.stats().pending
        rig.clock.advance(by: .seconds(600))
        try await looked()
        deliveries.checkpoint()
        deliveries.rewind()
        // The event was delivered and its mark removed in the meantime. Another mark would deliver it again.
        for partition in 0..<deliveries.partitions {
            let claim = try await deliveries.claim(ClaimRequest(partition: partition, limit: 10))
            for lease in claim.leases {
                let change = DeliveryChange(state: DeliveryState(cursor: 1))
                _ = try await deliveries.commit([
                    Commit(ref: lease.ref, verdict: .rest, change: change)
                ])
            }
        }
        try await looked()
        #expect(old == 1)
        #expect(try await deliveries.stats().closed == 1)
    }
}
