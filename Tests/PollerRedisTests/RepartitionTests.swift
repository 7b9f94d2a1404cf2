import Foundation
import Logging
import Poller
import PollerTesting
import RedisClient
import Testing

@testable import PollerRedis

/// A store is given more partitions: what is there stays there once, whoever was late to hear of it.
@Suite("partitions are split", .timeLimit(.minutes(2)))
struct RepartitionTests {
    @Test(
        "everything is where it belongs, and who has not heard of it is told",
        arguments: Stop.allCases
    )
    func whole(_ stop: Stop) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            let (early, late) = (
                harness.store, try RedisHarness(client: client, layout: harness.layout).store
            )
            try await harness.fill()
            let before = try await harness.pictures(of: early)
            try await harness.split(upTo: stop)
            try await harness.split([0])
            #expect(try await harness.pictures(of: late) == before)
            #expect(try await harness.audit() == [])
            let homes = try await harness.homes()
            #expect(homes.count > 1, "all is in one partition")
            #expect(homes.values.reduce(0, +) == RedisHarness.filled, "an item is there twice")
            // Enqueued again by one that still believes in one partition: joined, not made anew.
            let again = try await early.enqueue([NewWatch(key: RedisHarness.key(1))])
            #expect(again.map(\.outcome) == [.joined])
            #expect(try await early.cancel(RedisHarness.key(2)))
            #expect(try await late.snapshot(of: RedisHarness.key(2))?.closed == .cancelled)
            #expect(try await harness.audit() == [])
        }
    }

    @Test(
        "of what is being split nothing is claimed, what is leased is committed, and then nothing is written"
    )
    func stages() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let work = harness.work()
            let held = try await harness.claim(2)
            #expect(held.count == 2)
            for child in work.children { try await work.reach(.frozen, in: child) }
            try await work.reach(.closing, in: 0)
            #expect(try await harness.claim(2).isEmpty)
            #expect(try await !work.reach(.frozen, in: 0), "it holds leases")
            let commits = held.map { lease in
                Commit(
                    ref: lease.ref,
                    verdict: .next(after: .seconds(5)),
                    change: WatchChange(state: lease.item.state)
                )
            }
            #expect(try await harness.store.commit(commits) == [.done, .done])
            #expect(try await work.reach(.frozen, in: 0))
            // What only reads is answered.
            #expect(try await harness.store.snapshot(of: RedisHarness.key(1)) != nil)
            let before = try await harness.homes()
            async let enqueued = harness.store.enqueue([NewWatch(key: RedisHarness.key(999))])
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await harness.homes() == before, "something was written")
            try await harness.split([0])
            #expect(try await enqueued.map(\.outcome) == [.created])
            #expect(try await harness.store.snapshot(of: RedisHarness.key(999)) != nil)
        }
    }

    @Test("who comes late with what was read before undoes nothing")
    func late() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let work = harness.work()
            try await harness.split(upTo: .copying)
            try await harness.split([0])
            let lane = RedisHarness.key(1).lane
            let part = PartitionSplit.Part(
                isItems: true,
                names: [RedisHarness.key(1).id.description],
                lanes: [lane.description]
            )
            await #expect(throws: StoreError.self) { try await work.forget(part) }
            for child in work.children {
                await #expect(throws: StoreError.self) { try await work.reach(.frozen, in: child) }
            }
            let written = try await work.partitions.run(
                work.partitions.scripts[.splitWrite],
                partition: work.partitions.keys.map.finalPartition(of: lane.description),
                ["x", "y", "", "0", "0"]
            )
            #expect(written.int == -1)
            #expect(try await harness.audit() == [])
        }
    }

    @Test("only multiples can be had, of a store of the newest form")
    func numbers() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            for wrong in [2, 6, 2048] {
                await #expect(throws: InvalidInput.self) {
                    try await RedisRepartition.begin(harness.layout, partitions: wrong, on: client)
                }
            }
            let old = try await RedisHarness(client: client, form: 2)
            await #expect(throws: InvalidInput.self) {
                try await RedisRepartition.begin(old.layout, partitions: 8, on: client)
            }
            let begun = try await RedisRepartition.begin(harness.layout, partitions: 8, on: client)
            await #expect(throws: InvalidInput.self) {
                try await RedisRepartition.begin(begun, partitions: 16, on: client)
            }
            let agreed = try await StoreLayout.agreed(on: client, namespace: begun.namespace)
            #expect(agreed == begun && agreed.former == 4 && agreed.base == 4)
        }
    }

    @Test("every script of a partition asks whether its caller knows where lanes are, or need not")
    func asking() {
        // What stays where it is, lists that look everywhere, and the split itself.
        let anywhere: Set<ScriptName> = [
            .outboxGroup, .outboxHold, .confirm, .settled, .trim, .ledger, .beat, .list, .closed,
            .search, .laneNames, .deadLetters, .incidentList, .endpointCreate, .endpointWrite,
            .endpointChanges, .endpointRead, .endpointList, .endpointCount, .keyWrite, .keyList,
            .keyUsed, .trailNote, .activityAdd, .activityRead, .sweepTake, .sweepFinish, .reads,
            .remember, .suppress, .reseal, .splitStage, .splitClock, .splitList, .splitRead,
            .splitWrite, .splitForget,
        ]
        let texts = ScriptTexts(clock: nil)
        for name in ScriptName.allCases where !anywhere.contains(name) {
            let source = texts.source(of: name)
            let body = source[
                (source.range(of: "\nenter(KEYS")?.lowerBound ?? source.startIndex)...
            ]
            #expect(
                ["placed()", " clocks()", "watched_clocks()"].contains { body.contains($0) },
                "\(name)"
            )
        }
    }
}

/// Where an earlier try has stopped.
enum Stop: CaseIterable {
    case beginning, closing, copying, copied, forgetting
}

@Suite("where lanes are")
struct PartitionMapTests {
    @Test("a lane goes from its partition to one of those it is split into, once that is heard")
    func hearing() {
        let settled = PartitionMap(partitions: 64)
        let map = PartitionMap(partitions: 64, base: 16, former: 16)
        for number in 0..<500 {
            let lane = "acct_\(number)/source"
            let (former, now) = (map.partition(of: lane), map.finalPartition(of: lane))
            #expect(former < 16 && now % 16 == former && now == settled.partition(of: lane))
            #expect(map.descendants(of: former).contains(now))
            #expect(map.fixedPartition(of: lane) == former)
        }
        #expect(map.mark(of: 7) == "" && map.mark(of: 23) == "")
        #expect(map.hear(64, from: 7))
        #expect(map.mark(of: 7) == "64" && map.mark(of: 23) == "64" && map.mark(of: 8) == "")
        let moved = (0..<500).map { "acct_\($0)/source" }.filter {
            map.finalPartition(of: $0) == 23
        }
        #expect(moved.allSatisfy { map.partition(of: $0) == 23 } && !moved.isEmpty)
        // A failover has lost that it was split.
        #expect(map.hear(0, from: 23) && map.mark(of: 7) == "")
        #expect(!map.hear(256, from: 7) && !settled.hear(256, from: 7), "start it again")
        #expect(PartitionMap(partitions: 64, base: 16).mark(of: 40) == "64")
        #expect(PartitionMap(partitions: 256, base: 16, former: 64).mark(of: 3) == "64")
    }

    @Test("incidents stay beside their board")
    func incidents() {
        let lane = Incident.lane.description
        let map = PartitionMap(partitions: 64, base: 1, former: 1)
        #expect(map.hear(64, from: 0) && map.partition(of: lane) == 0)
    }
}

extension RedisHarness {
    fileprivate static let filled = 60

    fileprivate static func key(_ number: Int) -> WatchKey {
        WatchKey(
            account: AccountID(unchecked: "acct_\(number % 7)"),
            source: SourceID(unchecked: "src_\(number)"),
            kind: .source
        )
    }

    /// Watches of several accounts, some closed, some with names, a note and a lane with a limit.
    fileprivate func fill() async throws {
        _ = try await store.enqueue(
            (0..<Self.filled).map {
                try NewWatch(key: Self.key($0), metadata: "{\"order\":\"A-\($0)\"}")
            }
        )
        for number in stride(from: 0, to: Self.filled, by: 3) {
            _ = try await store.cancel(Self.key(number))
        }
        let limit = LaneLimit(ratePerSecond: 7, burst: 2, inFlightMax: 3)
        _ = try await store.limit(Self.key(4).lane, to: limit, instead: nil)
        try await store.pause(Self.key(5).lane)
    }

    /// What is known of each watch, of its log, of what it is found by, and of the lanes.
    fileprivate func pictures(of store: RedisWatchStore) async throws -> [String] {
        var pictures: [String] = []
        for number in 0..<Self.filled {
            let key = Self.key(number)
            let snapshot = try #require(try await store.snapshot(of: key))
            let events = try await store.events(of: key, after: 0, limit: 9).map(\.id)
            let query = try SearchQuery("order=A-\(number)", keys: .standard, now: Timestamp(ms: 0))
            let found = try await store.list(ListQuery(search: query)).items.map(\.watch.key.source)
            pictures.append("\(snapshot) \(events) \(found)")
        }
        for lane in Set((0..<7).map { Self.key($0).lane.description }).sorted() {
            let report = try await store.report(on: LaneID(unchecked: lane))
            pictures.append(
                "\(lane) \(report.waiting) \(report.isPaused) \(String(describing: report.limit))"
            )
        }
        return pictures
    }

    fileprivate func work() -> PartitionSplit {
        PartitionSplit(
            partitions: RedisPartitions(
                client: client,
                keys: layout.watchKeys,
                scripts: .virtual,
                logger: Logger(label: "split"),
                durability: nil
            ),
            partition: 0,
            children: [1, 2, 3]
        )
    }

    /// Begins to split the watches' only partition, and is killed on the way.
    fileprivate func split(upTo stop: Stop) async throws {
        if stop == .beginning { return }
        let work = work()
        for child in work.children { try await work.reach(.frozen, in: child) }
        try await work.reach(.closing, in: 0)
        if stop == .closing { return }
        try await work.reach(.frozen, in: 0)
        try await work.passClock()
        try await some(work, of: stop == .copying) { part throws(StoreError) in
            try await work.copy(part)
        }
        if stop == .copying { return }
        try await work.reach(.copied, in: 0)
        if stop == .copied { return }
        try await some(work, of: true) { part throws(StoreError) in try await work.forget(part) }
    }

    /// Does something with all that is to move, or with the first of it.
    private func some(
        _ work: PartitionSplit,
        of isFirst: Bool,
        _ body: (PartitionSplit.Part) async throws(StoreError) -> Void
    ) async throws {
        var calls = 0
        try await work.eachMoving([]) { part throws(StoreError) in
            calls += 1
            if !isFirst || calls <= 3 { try await body(part) }
        }
    }

    /// Splits partitions of both queues to the end.
    func split(_ partitions: [Int]) async throws {
        let repartition = RedisRepartition(
            client: client,
            layout: layout,
            scripts: .virtual,
            owner: OwnerID(unchecked: "BBBBBBBBBBB"),
            logger: Logger(label: "split")
        )
        for queue in RedisRepartition.Queue.allCases {
            for partition in partitions { _ = try await repartition.split(queue, partition) }
        }
    }

    /// What the first call to each partition would have them hear.
    func hear(of partitions: [Int]) {
        for partition in partitions {
            _ = store.redis.keys.map.hear(Self.partitionCount, from: partition)
            _ = queue.redis.keys.map.hear(Self.partitionCount, from: partition)
        }
    }

    fileprivate func claim(_ limit: Int) async throws -> [Lease<Watch>] {
        try await store.claim(
            ClaimRequest(
                partition: 0,
                limit: limit,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                lease: .seconds(10),
                lane: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 10)
            )
        ).leases
    }

    /// How many watches each partition has.
    fileprivate func homes() async throws -> [Int: Int] {
        let keys = try await client.send(RedisCommand("KEYS", [.string("\(layout.namespace):w*")]))
        var homes: [Int: Int] = [:]
        for key in (keys.array ?? []).compactMap(\.string) {
            let tag = key.split(separator: "{")[1].prefix { $0 != "}" }
            homes[Int(tag) ?? -1, default: 0] += 1
        }
        return homes
    }
}
