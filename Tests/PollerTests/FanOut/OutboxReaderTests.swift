import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@Suite("OutboxReader", .timeLimit(.minutes(5)))
struct OutboxReaderTests {
    let rig = WorkerRig()
    let plan = FaultPlan()
    let deliveries: MemoryDeliveryQueue

    init() {
        deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
    }

    func reader(_ name: String = "reader-a") -> some Runnable {
        OutboxReader(
            FaultyStore(rig.store, plan: plan),
            FaultyDeliveryQueue(deliveries, plan: plan),
            owner: OwnerID(unchecked: name),
            clock: rig.clock
        )
    }

    /// Records a cancellation with two recipients for each watch.
    func record(_ count: Int) async throws {
        let urls = try ["https://a.example/", "https://b.example/"].map { try NotifyURL($0) }
        for number in 0..<count {
            let key = Sample.key("src_\(number)", account: "acct_\(number % 4)")
            _ = try await rig.store.enqueue([try NewWatch(key: key, notify: urls)])
            _ = try await rig.store.cancel(key)
        }
    }

    @Test("the reader marks a delivery for each endpoint and acknowledges the event")
    func marks() async throws {
        try await record(10)
        let reader = reader()
        try await running(reader.run) {
            try await eventually("all is marked") { try await deliveries.stats().pending == 20 }
            try await eventually("all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("a later event is marked without a delay")
    func arrival() async throws {
        let reader = reader()
        try await running(reader.run) {
            await rig.clock.waitForSleepers(1)
            try await record(1)
            try await eventually("it is marked") { try await deliveries.stats().pending == 2 }
        }
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("more than one batch is read without a delay")
    func batches() async throws {
        try await record(600)
        let reader = reader()
        try await running(reader.run) {
            try await eventually("all is marked") { try await deliveries.stats().pending == 1200 }
        }
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("an entry without stored marks is not acknowledged, and is read again")
    func retries() async throws {
        plan.fail(.mark, Array(repeating: .refused, count: 8))
        try await record(8)
        let reader = reader()
        try await running(reader.run) {
            try await rig.timePasses(until: "all is marked") {
                let marked = try await deliveries.stats().pending
                return try await rig.store.stats().undelivered == 0 && marked == 16
            }
        }
        #expect(rig.clock.now >= .init(offset: .seconds(5)))
    }

    @Test("events for unavailable endpoints are read again and do not delay others of their batch")
    func shardAway() async throws {
        let home = rig.store.partition(of: Sample.key(account: "acct_0").lane)
        let keys = (0..<99).map { Sample.key("src_\($0)", account: "acct_\($0)") }
            .filter { rig.store.partition(of: $0.lane) == home }.prefix(6)
        let url = try NotifyURL("https://a.example/")
        for key in keys {
            _ = try await rig.store.enqueue([try NewWatch(key: key, notify: [url])])
            _ = try await rig.store.cancel(key)
        }
        let away = Set(
            keys.prefix(2).map { LaneID(endpoint: DeliveryMark(url: url, watch: $0).endpoint) }
        )
        plan.setUnreachable { away.contains($0) }
        let reader = reader()
        try await running(reader.run) {
            try await eventually("the others are acknowledged") {
                try await rig.store.stats().undelivered == 2
            }
            #expect(try await deliveries.stats().pending == 4)
            #expect(rig.clock.now == .init(offset: .zero))
            plan.setUnreachable { _ in false }
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await deliveries.stats().pending == 6)
    }

    @Test("an entry that ended three notifiers is set aside, and all others are marked")
    func poison() async throws {
        try await record(8)
        // Another notifier reads everything and crashes.
        var dead: [OutboxEntry] = []
        for partition in 0..<rig.store.partitions {
            dead += try await rig.store.unacknowledged(
                partition,
                by: OwnerID(unchecked: "reader-dead")
            )
        }
        #expect(dead.count == 8)
        let suspects = dead.map { Suspect(.outbox, partition: $0.partition, name: $0.id) }
        for suspect in suspects { _ = try await rig.store.begin([suspect], isAlone: false) }
        for _ in 0..<2 { _ = try await rig.store.begin([suspects[3]], isAlone: true) }
        let reader = OutboxReader(
            rig.store,
            deliveries,
            suspects: PoisonGuard(store: rig.store, logger: Sample.quiet),
            owner: OwnerID(unchecked: "reader-a"),
            clock: rig.clock
        )
        try await running(reader.run) {
            try await rig.timePasses(until: "the others are marked") {
                try await rig.store.stats().undelivered == 0
            }
            let entries = try await rig.store.setAsideEntries()
            #expect(entries.map(\.id) == [suspects[3].id])
            #expect(entries.map(\.about) == [dead[3].event.key.source.description])
            #expect(try await deliveries.stats().pending == 14)
            // After an operator redrives the entry, it is handled like a new one.
            _ = try await rig.store.endSetAside(suspects[3].id, isRedriven: true)
            try await rig.timePasses(until: "it is marked as well") {
                try await deliveries.stats().pending == 16
            }
        }
    }

    @Test("regression 16: a slow batch is marked once and acknowledged step by step")
    func slow() async throws {
        let registry = MemoryEndpointStore(time: ClockTime(rig.clock))
        for number in 0..<2500 {
            _ = try await registry.create(
                try EndpointTests.endpoint("e\(number)", account: "acct_0"),
                request: nil
            )
        }
        let home = rig.store.partition(of: Sample.key(account: "acct_0").lane)
        for source in ["src_1", "src_2"] {
            let key = Sample.key(source, account: "acct_0")
            _ = try await rig.store.enqueue([try NewWatch(key: key)])
            _ = try await rig.store.cancel(key)
        }
        // Before each mark, the entries that another notifier would take over, and the entries still to do.
        let taken = Mutex<[Int]>([])
        let left = Mutex<[Int]>([])
        let slow = SlowMarks(base: deliveries) { _ throws(StoreError) in
            rig.clock.advance(by: .seconds(3))
            let entries = try await rig.store.unacknowledged(
                home,
                by: OwnerID(unchecked: "reader-other")
            )
            taken.withLock { $0.append(entries.count) }
            let undelivered = try await rig.store.stats().undelivered
            left.withLock { $0.append(undelivered) }
        }
        let reader = OutboxReader(
            rig.store,
            slow,
            directory: EndpointDirectory(store: registry, logger: Sample.quiet),
            clock: rig.clock
        )
        try await running(reader.run) {
            try await eventually("all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await deliveries.stats().pending == 5000)
        #expect(taken.withLock(\.self) == Array(repeating: 0, count: 10))
        #expect(left.withLock(\.self) == [2, 2, 2, 2, 2, 1, 1, 1, 1, 1])
    }

    @Test("entries that another reader has taken over are acknowledged by that reader")
    func takenOver() async throws {
        let registry = MemoryEndpointStore(time: ClockTime(rig.clock))
        for number in 0..<16 {
            _ = try await registry.create(
                try EndpointTests.endpoint("e\(number)", account: "acct_0"),
                request: nil
            )
        }
        let home = rig.store.partition(of: Sample.key(account: "acct_0").lane)
        for number in 0..<128 {
            let key = Sample.key("src_\(number)", account: "acct_0")
            _ = try await rig.store.enqueue([try NewWatch(key: key)])
            _ = try await rig.store.cancel(key)
        }
        let calls = Mutex(0)
        let slow = SlowMarks(base: deliveries) { _ throws(StoreError) in
            guard
                calls.withLock({
                    $0 += 1
                    return $0
                }) == 1
            else { return }
            // The reader stalls for so long that its batch looks abandoned.
            rig.clock.advance(by: .seconds(6))
            let taken = try await rig.store.unacknowledged(
                home,
                by: OwnerID(unchecked: "reader-other")
            )
            #expect(taken.count == 128)
        }
        let reader = OutboxReader(
            rig.store,
            slow,
            directory: EndpointDirectory(store: registry, logger: Sample.quiet),
            clock: rig.clock
        )
        try await running(reader.run) {
            try await eventually("all is marked") { try await deliveries.stats().pending == 2048 }
        }
        #expect(try await rig.store.stats().undelivered == 128)
    }

    @Test("a reader that crashes between marking and acknowledging loses nothing")
    func dies() async throws {
        plan.fail(.acknowledge, Array(repeating: .refused, count: 50))
        try await record(8)
        let dead = reader("reader-dead")
        try await running(dead.run) {
            try await eventually("all is marked") { try await deliveries.stats().pending == 16 }
        }
        #expect(try await rig.store.stats().undelivered == 8)
        let alive = OutboxReader(
            rig.store,
            deliveries,
            owner: OwnerID(unchecked: "reader-alive"),
            clock: rig.clock
        )
        try await running(alive.run) {
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await deliveries.stats().pending == 16)
    }
}

/// A service loop.
protocol Runnable: Sendable {
    func run() async
}

extension OutboxReader: Runnable {}

/// A delivery queue that runs a closure before each mark.
struct SlowMarks: DeliveryQueue, FaultyLeaseQueue {
    typealias Item = Delivery
    typealias Change = DeliveryChange

    let base: MemoryDeliveryQueue
    let plan = FaultPlan()
    let before: @Sendable ([DeliveryMark]) async throws(StoreError) -> Void

    func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        try await before(deliveries)
        try await base.mark(deliveries)
    }

    func stats() async throws(StoreError) -> StoreStats { try await base.stats() }

    func trimAttempts(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool { false }

    func purge(
        partition: Int,
        retention: Duration,
        keeping isKept: (WatchKey) async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Bool { false }
}
