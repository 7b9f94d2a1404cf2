import Foundation
import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// The stage at which an earlier attempt has stopped.
enum Stop: CaseIterable {
    case beginning, closing, copying, copied, forgetting
}

extension RedisHarness {
    static let filled = 60

    static func watchKey(_ number: Int) -> WatchKey {
        WatchKey("src_\(number)", of: AccountID(unchecked: "acct_\(number % 7)"))
    }

    /// Enqueues watches of several accounts, some closed, some with names, a note and a lane with a limit.
    func fill() async throws {
        _ = try await store.enqueue(
            (0..<Self.filled).map {
                try NewWatch(
                    key: Self.watchKey($0),
                    metadata: "{\"order\":\"A-\($0)\",\"customer\":\"c1\"}"
                )
            }
        )
        for number in stride(from: 0, to: Self.filled, by: 3) {
            _ = try await store.cancel(Self.watchKey(number))
        }
        let limit = LaneLimit(ratePerSecond: 7, burst: 2, inFlightMax: 3)
        _ = try await store.limit(Self.watchKey(4).lane, to: limit, instead: nil)
        try await store.pause(Self.watchKey(5).lane)
    }

    /// Returns texts of each watch, its log, its search entries, and the lanes.
    func pictures(of store: RedisWatchStore) async throws -> [String] {
        var pictures: [String] = []
        for number in 0..<Self.filled {
            let key = Self.watchKey(number)
            let snapshot = try #require(try await store.snapshot(of: key))
            let events = try await store.events(of: key, after: 0, limit: 9).map(\.id)
            let query = try SearchQuery("order=A-\(number)", keys: .standard, now: Timestamp(ms: 0))
            let found = try await store.list(ListQuery(search: query)).items.map(\.watch.key.source)
            pictures.append("\(snapshot) \(events) \(found)")
        }
        for lane in Set((0..<7).map { Self.watchKey($0).lane.description }).sorted() {
            let report = try await store.report(on: LaneID(unchecked: lane))
            pictures.append(
                "\(lane) \(report.waiting) \(report.isPaused) \(String(describing: report.limit))"
            )
        }
        return pictures
    }

    func work(_ queue: RedisRepartition.Queue = .watches) -> PartitionSplit {
        PartitionSplit(
            partitions: RedisPartitions(
                client: client,
                keys: queue == .watches ? layout.watchKeys : layout.deliveryKeys,
                scripts: .virtual,
                logger: Logger(label: "split"),
                durability: nil
            ),
            partition: 0,
            children: Array(1..<layout.partitions),
            splitter: "AAAAAAAAAAA.1"
        )
    }

    /// Begins to split the watches' only partition, and stops on the way as if killed.
    func split(upTo stop: Stop) async throws {
        if stop == .beginning { return }
        let work = work()
        try await work.begin()
        try await work.enter(.closing, in: 0)
        if stop == .closing { return }
        try await work.enter(.frozen, in: 0)
        try await work.copyClock()
        try await some(work, of: stop == .copying) { part throws(StoreError) in
            try await work.copy(part)
        }
        if stop == .copying { return }
        try await work.enter(.copied, in: 0)
        if stop == .copied { return }
        try await some(work, of: true) { part throws(StoreError) in try await work.forget(part) }
    }

    /// Calls `body` with everything that moves, or with the first part of it.
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

    var repartition: RedisRepartition {
        RedisRepartition(
            client: client,
            layout: layout,
            scripts: .virtual,
            owner: OwnerID(unchecked: "BBBBBBBBBBB"),
            logger: Logger(label: "split")
        )
    }

    /// Splits partitions of both queues completely.
    func split(_ partitions: [Int]) async throws {
        for queue in RedisRepartition.Queue.allCases {
            for partition in partitions { _ = try await repartition.split(queue, partition) }
        }
    }

    /// Updates the maps of both queues as the first call to each partition would.
    func observeSplit(of partitions: [Int]) {
        for partition in partitions {
            _ = store.redis.keys.map.receive(Self.partitionCount, from: partition)
            _ = queue.redis.keys.map.receive(Self.partitionCount, from: partition)
        }
    }

    func claim(_ limit: Int, in partition: Int = 0) async throws -> [Lease<Watch>] {
        try await store.claim(
            ClaimRequest(
                partition: partition,
                limit: limit,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                lease: .seconds(10),
                lane: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 10)
            )
        ).leases
    }

    /// Waits until a partition has rejected a call because it is being split.
    func waitForRefusal() async throws {
        // The test polls the counter of Redis, because there is no notification.
        try await eventually("a call is rejected while the partition is being split") {
            let stats = try await client.send(RedisCommand("INFO", ["errorstats"])).string ?? ""
            return stats.contains("errorstat_SPLITTING")
        }
    }

    /// Returns the number of watches in each partition.
    func homes() async throws -> [Int: Int] {
        let keys = try await client.send(RedisCommand("KEYS", [.string("\(layout.namespace):w*")]))
        var homes: [Int: Int] = [:]
        for key in (keys.array ?? []).compactMap(\.string) {
            let tag = key.split(separator: "{")[1].prefix { $0 != "}" }
            homes[Int(tag) ?? -1, default: 0] += 1
        }
        return homes
    }
}

extension PartitionSplit {
    /// Takes the partition over, and prepares the new parts for copies.
    func begin() async throws {
        try await enter(.before, in: partition)
        for child in children { try await enter(.filling, in: child) }
    }
}
