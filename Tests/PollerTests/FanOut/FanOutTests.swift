import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@Suite("FanOut", .timeLimit(.minutes(5)))
struct FanOutTests {
    static let count = 2600

    let rig = WorkerRig()
    let deliveries: MemoryDeliveryQueue
    let registry: MemoryEndpointStore
    let marked = Shared<[EndpointID]>([])

    init() {
        deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        registry = MemoryEndpointStore(time: ClockTime(rig.clock))
    }

    func create(_ name: String) async throws {
        let endpoint = try EndpointTests.endpoint(name, account: "acct_0")
        _ = try await registry.create(endpoint, request: nil)
    }

    /// Records an event with 2,600 registered endpoints and one inline URL as recipients.
    func record() async throws {
        for number in 0..<Self.count { try await create("e\(number)") }
        let key = Sample.key(account: "acct_0")
        let watch = try NewWatch(key: key, notify: [try NotifyURL("https://a.example/")])
        _ = try await rig.store.enqueue([watch])
        _ = try await rig.store.cancel(key)
    }

    func reader(
        _ name: String,
        before: @escaping @Sendable (Int) async throws(StoreError) -> Void = { _ in }
    ) -> some Runnable {
        let marked = marked
        let slow = SlowMarks(base: deliveries) { marks throws(StoreError) in
            try await before(marked.value.count)
            marked.change { $0 += marks.map(\.endpoint) }
        }
        return reader(marking: slow, in: deliveries, as: OwnerID(unchecked: name))
    }

    private func reader<Queue: DeliveryQueue>(
        marking queue: Queue,
        in memory: MemoryDeliveryQueue,
        as owner: OwnerID = Sample.owner
    ) -> OutboxReader<MemoryStore, Queue, ManualClock> {
        OutboxReader(
            rig.store,
            queue,
            directory: EndpointDirectory(
                store: registry,
                partition: memory.partition(of:),
                logger: Sample.quiet
            ),
            owner: owner,
            clock: rig.clock
        )
    }

    @Test("a reader that takes over an event continues at its position, despite changed endpoints")
    func resumes() async throws {
        try await record()
        let isDead = Shared(false)
        let dead = reader("reader-dead") { count throws(StoreError) in
            guard count > 1500 else { return }
            isDead.change { $0 = true }
            throw .unavailable("dead")
        }
        try await running(dead.run) {
            try await eventually("it has died half-way") { isDead.value }
        }
        let done = marked.value
        // The first mark is that of the URL.
        for id in [done[1], done[done.count - 1]] {
            #expect(try await registry.remove(id))
        }
        rig.clock.advance(by: .seconds(1))
        for number in 0..<50 { try await create("late\(number)") }
        let alive = reader("reader-alive")
        try await running(alive.run) {
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(
            Set(marked.value).count == Self.count + 1,
            "all, and none that came after the event"
        )
        #expect(marked.value.count == Self.count + 1, "each of them once")
        #expect(try await deliveries.stats().pending == Self.count + 1)
    }

    @Test("endpoints in an unavailable shard do not delay others, and are marked later")
    func shardAway() async throws {
        try await record()
        let home = rig.store.partition(of: Sample.key(account: "acct_0").lane)
        let entry = try #require(
            try await rig.store.entries(partition: home, after: "0", limit: 1).first
        )
        let queue = deliveries
        let isAway: @Sendable (LaneID) -> Bool = { queue.partition(of: $0) == 1 }
        let inline = DeliveryMark(url: try NotifyURL("https://a.example/"), watch: entry.event.key)
        let recipients =
            (0..<Self.count).map { EndpointID(unchecked: "ep_e\($0)") } + [inline.endpoint]
        let there = recipients.count { !isAway(LaneID(endpoint: $0)) }
        let plan = FaultPlan()
        plan.setUnreachable(isAway)
        let reader = self.reader(marking: FaultyDeliveryQueue(queue, plan: plan), in: queue)
        try await running(reader.run) {
            try await eventually("the others are marked") {
                try await queue.stats().pending == there
            }
            #expect(try await rig.store.stats().undelivered == 1)
            let positions = try await rig.store.positions(partition: home, of: [entry.id])
            let first = FanOutPosition(partition: 1, endpoint: EndpointID(unchecked: ""))
            #expect(positions.values.allSatisfy { $0 < first }, "none behind what is not marked")
            plan.setUnreachable { _ in false }
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await queue.stats().pending == recipients.count)
    }

    @Test("deferred endpoints are deferred again for a while, and no others are marked again")
    func leftAgain() async throws {
        try await record()
        let queue = deliveries
        let isAway: @Sendable (LaneID) -> Bool = { queue.partition(of: $0) == 1 }
        let plan = FaultPlan()
        plan.setUnreachable(isAway)
        let marked = marked
        let slow = SlowMarks(base: queue) { marks throws(StoreError) in
            marked.change { $0 += marks.map(\.endpoint) }
        }
        let reader = self.reader(marking: FaultyDeliveryQueue(slow, plan: plan), in: queue)
        let url = DeliveryMark(
            url: try NotifyURL("https://a.example/"),
            watch: Sample.key(account: "acct_0")
        )
        let recipients =
            (0..<Self.count).map { EndpointID(unchecked: "ep_e\($0)") } + [url.endpoint]
        let there = recipients.count { !isAway(LaneID(endpoint: $0)) }
        try await running(reader.run) {
            try await eventually("the others are marked") {
                try await queue.stats().pending == there
            }
            let count = marked.value.count
            try await rig.timePasses(until: "the entry has come back twice") {
                rig.clock.now >= .init(offset: .seconds(14))
            }
            #expect(marked.value.count == count)
            #expect(try await rig.store.stats().undelivered == 1)
            plan.setUnreachable { _ in false }
            try await rig.timePasses(until: "all is acknowledged") {
                try await rig.store.stats().undelivered == 0
            }
        }
        #expect(try await queue.stats().pending == recipients.count)
    }

    @Test("a reader that lost an event to another reader stops, and does not take it back")
    func stops() async throws {
        try await record()
        let home = rig.store.partition(of: Sample.key(account: "acct_0").lane)
        let other = OwnerID(unchecked: "reader-other")
        let taken = Shared<[OutboxEntry]>([])
        let slow = reader("reader-slow") { count throws(StoreError) in
            guard count > 1000, taken.value.isEmpty else { return }
            rig.clock.advance(by: .seconds(6))
            let entries = try await rig.store.unacknowledged(
                partition: home,
                consumer: other,
                idle: .seconds(5),
                limit: 9
            )
            taken.change { $0 = entries }
            // The other reader has advanced further when the first one continues.
            let last = FanOutPosition(partition: 99, endpoint: EndpointID(unchecked: "ep_z"))
            let held = entries.map { PendingEntry($0.id, at: last) }
            _ = try await rig.store.hold(partition: home, consumer: other, held)
        }
        let later = try #require(
            (1..<99).lazy.map { Sample.key(account: "acct_\($0)") }
                .first { rig.store.partition(of: $0.lane) == home }
        )
        let url = try NotifyURL("https://later.example/")
        try await running(slow.run) {
            try await eventually("it has been overtaken") { !taken.value.isEmpty }
            _ = try await rig.store.enqueue([try NewWatch(key: later, notify: [url])])
            _ = try await rig.store.cancel(later)
            let endpoint = DeliveryMark(url: url, watch: later).endpoint
            // Events recorded later are read after that.
            try await eventually("it does something else") { marked.value.contains(endpoint) }
            // The later event is acknowledged, and the lost one is not.
            try await eventually("one is left") { try await rig.store.stats().undelivered == 1 }
        }
        #expect(taken.value.count == 1)
        #expect(marked.value.count < Self.count)
        let position = try await rig.store.positions(partition: home, of: taken.value.map(\.id))
        #expect(position.values.map(\.endpoint.description) == ["ep_z"])
    }
}
