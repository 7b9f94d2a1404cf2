import Foundation
import Logging
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerWatches
import RedisClient
import Synchronization

/// The database under measurement, with helpers for every measurement.
///
/// It is a separate namespace on an empty database, so a run may flush it between measurements and cannot flush any of
/// your data. Costs are read from the two processes that bear them, this one and Redis, over a span in steady state.
struct BenchStore: Sendable {
    static let namespace = "bench"

    let client: RedisClient
    let watches: RedisWatchStore
    let outbox: RedisOutbox
    let accounts: RedisAccountCounts
    let deliveries: RedisDeliveryQueue
    let owner: OwnerID
    let clock = ContinuousClock()
    let logger: Logger
    /// The layout of its data.
    let layout: StoreLayout

    /// Takes an empty database into use.
    ///
    /// `partitions` is the number of partitions of the new store.
    ///
    /// - Throws: ``BenchError`` if the database is not empty, because a run flushes it between measurements.
    init(
        client: RedisClient,
        logger: Logger,
        partitions: Int = StoreLayout.partitionsOnOneRedis
    ) async throws {
        try await client.waitUntilConnected(timeout: .seconds(10))
        let sizes = try await client.sendToMasters(RedisCommand("DBSIZE"))
        guard sizes.allSatisfy({ $0.reply.int == 0 }) else {
            throw BenchError("the database is not empty: the benchmark would destroy its data")
        }
        layout = try await StoreLayout.loadOrCreate(
            on: client,
            namespace: Self.namespace,
            partitions: partitions
        )
        self.client = client
        self.logger = logger
        let redis = RedisPartitions(client: client, layout: layout, logger: logger)
        watches = RedisWatchStore(redis)
        outbox = RedisOutbox(redis)
        accounts = RedisAccountCounts(redis)
        deliveries = RedisDeliveryQueue(client: client, layout: layout, logger: logger)
        var generator = SystemRandomNumberGenerator()
        owner = OwnerID(using: &generator)
    }

    /// Removes all watches.
    func clear() async throws {
        try await Self.flush(client)
        _ = try await StoreLayout.loadOrCreate(
            on: client,
            namespace: Self.namespace,
            partitions: layout.partitions
        )
    }

    /// Flushes the database asynchronously, because millions of keys take longer than the timeout of a reply.
    static func flush(_ client: RedisClient) async throws {
        _ = try await client.sendToMasters(RedisCommand("FLUSHDB", ["ASYNC"]))
        let pending = RedisCommand("INFO", ["memory"])
        while try await client.sendToMasters(pending).contains(where: { node in
            !(node.reply.string ?? "").contains("lazyfree_pending_objects:0")
        }) {
            try await ContinuousClock().sleep(for: .milliseconds(20))
        }
    }

    /// Enqueues eight batches at a time, like a few API processes, each as large as a batch request.
    func fill(_ keys: [WatchKey], policy: PollPolicy = .auto) async throws {
        let new = try keys.map { try NewWatch(key: $0, policy: policy) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for start in stride(from: number * 2048, to: new.count, by: 8 * 2048) {
                        let end = min(start + 2048, new.count)
                        _ = try await watches.enqueue(Array(new[start..<end]))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Adds watches that were polled once and are due in an hour or more.
    func fillFar(_ count: Int, lanes: Int = 100) async throws {
        guard count > 0 else { return }
        try await fill(try keys(count, prefix: "far", lanes: lanes))
        let handler = BenchHandler { _ in .milliseconds(Int64.random(in: 3_600_000...36_000_000)) }
        try await run(handler, until: count, concurrency: 1024)
    }

    /// Records a number of events of each watch, each for the endpoint that `url` names, and returns their total.
    func record(_ each: Int, of keys: [WatchKey], for url: (Int) -> String) async throws -> Int {
        try await enqueue(keys, notifying: url)
        let handler = BenchHandler(eventEvery: 1) { watch in
            watch.state.attempts + 1 < each ? .zero : .seconds(3600)
        }
        try await run(handler, until: keys.count * each, concurrency: 256)
        return keys.count * each
    }

    /// Enqueues watches, each with the endpoint that `url` names.
    func enqueue(_ keys: [WatchKey], notifying url: (Int) -> String) async throws {
        let watches = try keys.enumerated().map { number, key in
            try NewWatch(key: key, notify: [try NotifyURL(url(number))])
        }
        for start in stride(from: 0, to: watches.count, by: 1024) {
            let end = min(start + 1024, watches.count)
            _ = try await self.watches.enqueue(Array(watches[start..<end]))
        }
    }

    /// Runs a worker until it has polled a number of times.
    private func run(_ handler: BenchHandler, until polls: Int, concurrency: Int) async throws {
        try await withWorker(handler, concurrency: concurrency) {
            while handler.tally.withLock(\.polls) < polls {
                try await clock.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Returns ids as long as Stripe's, spread over accounts that each have one lane.
    func keys(_ count: Int, prefix: String = "x", lanes: Int = 100) throws -> [WatchKey] {
        try (0..<count).map { index in
            let digits = prefix + String(index)
            let id = "src_1" + String(repeating: "x", count: 23 - digits.count) + digits
            return WatchKey(
                account: try AccountID("acct_bench\(index % lanes)"),
                source: try SourceID(id),
                kind: .source
            )
        }
    }

    /// Runs a worker while `body` measures.
    func withWorker<Hand: ItemHandler, Result: Sendable>(
        _ handler: Hand,
        concurrency: Int,
        lane: LaneLimit = .unlimited,
        _ body: () async throws -> Result
    ) async throws -> Result where Hand.Item == Watch, Hand.Change == WatchChange {
        let worker = LeaseWorker(
            name: "bench",
            queue: watches,
            handler: handler,
            settings: LeaseWorkerSettings(
                owner: owner,
                concurrency: concurrency,
                lease: .seconds(12),
                lane: lane,
                drainTimeout: .seconds(10),
                roundsDueTimes: true
            ),
            clock: clock,
            logger: logger
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run() }
            // Also after an error, because a worker ends only when it is drained.
            defer { worker.drain() }
            return try await body()
        }
    }

    /// The duration of a measurement, and the CPU seconds of the measured processes and of Redis in it.
    struct Cost {
        let seconds: Double
        let ownCPU: Double
        let redisCPU: Double
    }

    /// Waits for a span and returns its cost.
    func cost(of span: Duration) async throws -> Cost {
        try await cost(own: { ProcessCPU.seconds }, of: { try await clock.sleep(for: span) })
    }

    /// Returns the cost of `body`; `own` gives the CPU seconds of the measured processes so far.
    func cost(own: () throws -> Double, of body: () async throws -> Void) async throws -> Cost {
        let (before, redis) = (try own(), try await cpu())
        let began = clock.now
        try await body()
        return Cost(
            seconds: began.duration(to: clock.now) / .seconds(1),
            ownCPU: try own() - before,
            redisCPU: try await cpu() - redis
        )
    }

    /// Returns this machine's time, for signatures.
    static func wallClock() -> Timestamp {
        Timestamp(ms: Int64(Date().timeIntervalSince1970 * 1000))
    }

    /// Returns the memory of Redis in bytes.
    func usedMemory() async throws -> Double {
        try await sum("memory", ["used_memory"])
    }

    /// Returns the CPU seconds of Redis so far, user and system.
    func cpu() async throws -> Double {
        try await sum("cpu", ["used_cpu_user", "used_cpu_sys"])
    }

    /// Returns the sum of some INFO values over all masters.
    private func sum(_ section: String, _ names: Set<Substring>) async throws -> Double {
        try await info(section).reduce(0) { total, info in
            let parts = info.line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, names.contains(parts[0]) else { return total }
            return total + (Double(parts[1]) ?? 0)
        }
    }

    /// Returns the lines of a section of INFO, with the master of each.
    func info(_ section: String) async throws -> [(node: String, line: Substring)] {
        try await client.sendToMasters(RedisCommand("INFO", [.string(section)])).flatMap { node in
            (node.reply.string ?? "").split(whereSeparator: \.isNewline)
                .map { (node: "\(node.node)", line: $0) }
        }
    }
}

extension Substring {
    /// Returns the number behind a word, such as `calls=`.
    func number(behind word: String) -> Double? {
        guard let start = firstRange(of: word)?.upperBound else { return nil }
        return Double(self[start...].prefix { $0.isNumber || $0 == "." })
    }
}
