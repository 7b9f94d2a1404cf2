import AsyncHTTPClient
import Foundation
import Histogram
import Logging
import NIOCore
import NIOHTTP1
import Poller
import PollerRedis
import PollerUpstreams
import RedisClient
import StripeAPI
import Synchronization

/// The measurements, one after the other on an empty database.
struct BenchRun: Sendable {
    let redisURL: RedisURL
    let sandboxURL: String
    let plan: BenchPlan
    let progress: @Sendable (String) -> Void

    private let logger = Logger(label: "bench")
    private let clock = ContinuousClock()

    init(
        redisURL: RedisURL,
        sandboxURL: String,
        plan: BenchPlan,
        progress: @escaping @Sendable (String) -> Void
    ) {
        self.redisURL = redisURL
        self.sandboxURL = sandboxURL
        self.plan = plan
        self.progress = progress
    }

    /// Measures everything.
    func measure() async throws -> BenchReport {
        let client = RedisClient(url: redisURL, logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            let report = try await measure(on: client)
            group.cancelAll()
            return report
        }
    }

    private func measure(on client: RedisClient) async throws -> BenchReport {
        var report = BenchReport()
        let cluster = try await Cluster.join(client, namespace: "bench", logger: logger)
        // The layout's own key is all that an empty database may hold by now.
        guard try await client.send(RedisCommand("DBSIZE")).int == 1 else {
            throw ConfigurationError("the database is not empty: bench would destroy what is there")
        }
        progress("enqueueing \(plan.watches) watches")
        try await enqueue(cluster, &report)
        try await clear(client)

        progress("polling a no-op upstream for \(plan.span.text)")
        try await fill(cluster, try fakeKeys(4096))
        report.engine = try await saturate(cluster, upstream: nil, concurrency: 1024)
        try await clear(client)

        let sources = try await bulk(4096)
        progress("bare HTTP GETs for \(plan.span.text)")
        try await floor(sources, &report)

        progress("polling the sandbox for \(plan.span.text)")
        let upstream = StripeUpstream(
            accounts: StripeAccounts([
                .main: StripeClientConfiguration(
                    key: StripeKey("sk_test_bench"),
                    baseURL: sandboxURL
                )
            ]),
            wallClock: WallClock.now
        )
        try await fill(cluster, sources)
        report.whole = try await saturate(
            cluster,
            upstream: upstream,
            concurrency: plan.concurrency
        )
        try await clear(client)

        progress("\(plan.rate) polls a second for \(plan.span.text)")
        try await fill(cluster, try fakeKeys(plan.rate * 2))
        try await pace(cluster, &report)
        try await clear(client)
        return report
    }

    private func enqueue(_ cluster: Cluster, _ report: inout BenchReport) async throws {
        let before = try await usedMemory(cluster.client)
        let watches = try fakeKeys(plan.watches).map { try NewWatch(key: $0) }
        let began = clock.now
        // Eight batches on their way at once: what a few API processes send together.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for start in stride(from: lane * 256, to: watches.count, by: 8 * 256) {
                        let end = min(start + 256, watches.count)
                        _ = try await cluster.watches.enqueue(Array(watches[start..<end]))
                    }
                }
            }
            try await group.waitForAll()
        }
        let took = began.duration(to: clock.now).inSeconds
        report.enqueuePerSecond = Double(plan.watches) / took
        report.bytesPerWatch =
            (try await usedMemory(cluster.client) - before) / Double(plan.watches)
    }

    /// Polls as fast as it goes.
    private func saturate(
        _ cluster: Cluster,
        upstream: (any Upstream)?,
        concurrency: Int
    ) async throws -> BenchReport.Throughput {
        let handler = BenchHandler(upstream: upstream, interval: .zero)
        return try await withWorker(cluster, handler, concurrency: concurrency) {
            // A moment to reach the steady state.
            try await clock.sleep(for: .milliseconds(500))
            let polls = handler.tally.withLock { $0.polls }
            let cpu = ProcessCPU.seconds
            let redis = try await redisCPU(cluster.client)
            let began = clock.now
            try await clock.sleep(for: plan.span)
            let count = Double(handler.tally.withLock { $0.polls } - polls)
            let failures = handler.tally.withLock { $0.failures }
            guard count > 0, failures == 0 else {
                throw ConfigurationError("\(failures) polls of \(Int(count)) failed")
            }
            return BenchReport.Throughput(
                pollsPerSecond: count / began.duration(to: clock.now).inSeconds,
                workerCPUUs: (ProcessCPU.seconds - cpu) / count * 1e6,
                redisCPUUs: (try await redisCPU(cluster.client) - redis) / count * 1e6
            )
        }
    }

    /// Polls at the planned rate, every tenth poll with an event, and listens for the events.
    private func pace(_ cluster: Cluster, _ report: inout BenchReport) async throws {
        let handler = BenchHandler(upstream: nil, interval: .seconds(2), eventEvery: 10)
        let latencies = Mutex(Histogram<UInt64>(numberOfSignificantValueDigits: .three))
        let subscription = cluster.client.subscribe(channels: [], patterns: ["bench:events:*"])
        let listener = Task {
            for await event in subscription {
                guard case .message(_, _, let payload) = event,
                    let event = Event(json: String(buffer: payload)),
                    let sent = handler.tally.withLock({
                        $0.sent.removeValue(forKey: event.id.description)
                    })
                else { continue }
                let us = sent.duration(to: .now).inSeconds * 1e6
                latencies.withLock { latencies in _ = latencies.record(UInt64(us)) }
            }
        }
        defer { listener.cancel() }
        try await withWorker(cluster, handler, concurrency: plan.concurrency) {
            // The rounds that enqueue and spread the watches are not counted.
            try await clock.sleep(for: .seconds(4))
            handler.tally.withLock { tally in
                tally.polls = 0
                tally.lagUs = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
            }
            let began = clock.now
            try await clock.sleep(for: plan.span)
            let took = began.duration(to: clock.now).inSeconds
            handler.tally.withLock { tally in
                report.pacedRate = Double(tally.polls) / took
                report.dueLag = Self.latency(tally.lagUs)
            }
        }
        report.publishLatency = latencies.withLock { Self.latency($0) }
    }

    /// A GET loop on AsyncHTTPClient alone, as many at once as the worker polls.
    private func floor(_ sources: [WatchKey], _ report: inout BenchReport) async throws {
        let urls = sources.map { "\(sandboxURL)/v1/sources/\($0.source)" }
        let end = clock.now.advanced(by: plan.span)
        let cpu = ProcessCPU.seconds
        let began = clock.now
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<plan.concurrency {
                group.addTask {
                    var done = 0
                    while clock.now < end {
                        var request = HTTPClientRequest(url: urls[(number + done) % urls.count])
                        request.headers.add(name: "Authorization", value: "Bearer sk_test_bench")
                        let response = try await HTTPClient.shared.execute(
                            request,
                            timeout: .seconds(8)
                        )
                        _ = try await response.body.collect(upTo: 1 << 20)
                        done += 1
                    }
                    return done
                }
            }
            return try await group.reduce(0, +)
        }
        report.httpFloorCPUUs = (ProcessCPU.seconds - cpu) / Double(count) * 1e6
        report.httpFloorPerSecond = Double(count) / began.duration(to: clock.now).inSeconds
    }

    private func withWorker<Result: Sendable>(
        _ cluster: Cluster,
        _ handler: BenchHandler,
        concurrency: Int,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let worker = Reconciler(
            name: "bench",
            queue: cluster.watches,
            handler: handler,
            settings: ReconcilerSettings(
                owner: cluster.owner,
                concurrency: concurrency,
                lease: .seconds(12),
                lane: .unlimited,
                drainTimeout: .seconds(10)
            ),
            clock: clock,
            logger: logger
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run() }
            let result = try await body()
            worker.drain()
            try await group.waitForAll()
            return result
        }
    }

    private func fill(_ cluster: Cluster, _ keys: [WatchKey]) async throws {
        _ = try await cluster.watches.enqueue(try keys.map { try NewWatch(key: $0) })
    }

    /// Ids as long as Stripe's, over a hundred accounts so that partitions share the load.
    private func fakeKeys(_ count: Int) throws -> [WatchKey] {
        try (0..<count).map { index in
            let digits = String(index)
            let id = "src_1" + String(repeating: "x", count: 23 - digits.count) + digits
            return WatchKey(
                account: try AccountID("acct_bench\(index % 100)"),
                source: try SourceID(id),
                kind: .source
            )
        }
    }

    private func bulk(_ count: Int) async throws -> [WatchKey] {
        var request = HTTPClientRequest(url: "\(sandboxURL)/_sandbox/bulk")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: "{\"count\":\(count),\"type\":\"ideal\"}"))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 16 << 20)
        struct Reply: Decodable {
            let ids: [String]
        }
        let reply = try JSONDecoder().decode(Reply.self, from: Data(body.readableBytesView))
        return try reply.ids.map {
            WatchKey(account: .main, source: try SourceID($0), kind: .source)
        }
    }

    private func clear(_ client: RedisClient) async throws {
        let layout = try await client.send(RedisCommand("HGET", ["bench:layout", "partitions"]))
        _ = try await client.send(RedisCommand("FLUSHDB"))
        _ = try await client.send(
            RedisCommand("HSET", ["bench:layout", "partitions", .string(layout.string ?? "16")])
        )
    }

    private func usedMemory(_ client: RedisClient) async throws -> Double {
        Double(try await RedisRequirements.info(client, "memory")["used_memory"] ?? "") ?? 0
    }

    private func redisCPU(_ client: RedisClient) async throws -> Double {
        let facts = try await RedisRequirements.info(client, "cpu")
        return ["used_cpu_user", "used_cpu_sys"].reduce(0) { $0 + (Double(facts[$1] ?? "") ?? 0) }
    }

    private static func latency(_ histogram: Histogram<UInt64>) -> BenchReport.Latency {
        func ms(_ percentile: Double) -> Double {
            Double(histogram.valueAtPercentile(percentile)) / 1000
        }
        return BenchReport.Latency(
            p50: ms(50),
            p99: ms(99),
            max: Double(histogram.max) / 1000
        )
    }
}
