import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerWatches

/// Measures the cost of marking events for very many endpoints, from the record to the acknowledged entry.
///
/// The notifiers are separate processes. The endpoints belong to one account with its events in one partition of the
/// outbox, or to four accounts. Nothing listens at their addresses, and each notifier has a single delivery slot, so
/// nearly all of its work is marking. The marks are counted by its metrics. A count above the need means that some were
/// made twice.
struct FanOutBench: Sendable {
    private static let endpoints = 10_000
    /// Events per account.
    ///
    /// The first one finds new deliveries and empty lanes.
    private static let events = 10
    private static let timeout = Duration.seconds(120)

    let store: BenchStore
    let redisURL: String

    func measure(_ report: inout BenchReport) async throws {
        try await measure("fan_out", "events for 10,000 endpoints", 1, notifiers: 1, &report)
        try await measure("fan_out_of_four", "  of four accounts at once", 4, notifiers: 1, &report)
        try await measure("fan_out_of_two", "  by two notifiers", 4, notifiers: 2, &report)
    }

    private func measure(
        _ member: String,
        _ title: String,
        _ accounts: Int,
        notifiers count: Int,
        _ report: inout BenchReport
    ) async throws {
        let keys = try await register(accounts)
        let notifiers = try (0..<count).map { _ in
            try PollerdProcess(
                "notifier",
                redisURL: redisURL,
                environment: [
                    "POLLER_ALLOW_CIDRS": "127.0.0.0/8", "POLLER_DELIVERY_CONCURRENCY": "1",
                    "POLLER_GATEWAY_BIND": "127.0.0.1:0",
                ]
            )
        }
        defer { for notifier in notifiers { notifier.kill() } }
        func cpu() throws -> Double { try notifiers.reduce(0) { $0 + (try $1.cpuSeconds()) } }
        let cost = try await store.cost(own: cpu) {
            let end = store.clock.now.advanced(by: Self.timeout)
            for number in 0..<Self.events {
                for key in keys {
                    let source = try SourceID("\(key.source)x\(number)")
                    let one = WatchKey(account: key.account, source: source, kind: key.kind)
                    _ = try await store.watches.enqueue([try NewWatch(key: one)])
                    _ = try await store.watches.cancel(one)
                }
            }
            while try await store.watches.stats().undelivered != 0 {
                guard store.clock.now < end else {
                    throw BenchError("events were not marked in time")
                }
                try await store.clock.sleep(for: .milliseconds(5))
            }
        }
        var made = 0.0
        for notifier in notifiers {
            made += try await notifier.metrics().total("poller_delivery_marks_total")
        }
        let needed = Double(Self.endpoints * Self.events)
        let (own, redis) = (cost.ownCPU / needed, cost.redisCPU / needed)
        report.add(title, "\(member)_marks_per_s", needed / cost.seconds, "/s")
        report.add("  Redis CPU a mark", "\(member)_redis_cpu_us", cpu: redis)
        report.add("  notifier CPU a mark", "\(member)_notifier_cpu_us", cpu: own)
        report.add("  marks made of those needed", "\(member)_made", made / needed, "×")
        for notifier in notifiers { notifier.kill() }
        try await store.clear()
    }

    /// Registers endpoints of accounts with events in as many partitions, and returns one key per account.
    private func register(_ accounts: Int) async throws -> [WatchKey] {
        var homes: Set<Int> = []
        let keys = try store.keys(100, prefix: "told").filter {
            homes.count < accounts && homes.insert(store.watches.partition(of: $0)).inserted
        }
        for account in keys.map(\.account) {
            try await store.register(0..<Self.endpoints / accounts, of: account)
        }
        return keys
    }
}

extension BenchStore {
    var registry: RedisEndpointStore {
        RedisEndpointStore(client: client, layout: layout, logger: logger)
    }

    /// Registers endpoints of an account at which nothing listens.
    func register(_ numbers: Range<Int>, of account: AccountID) async throws {
        let registry = registry
        var generator = SystemRandomNumberGenerator()
        for number in numbers {
            let endpoint = Endpoint(
                id: EndpointID(using: &generator),
                account: account,
                url: try NotifyURL("http://127.0.0.1:9/\(number)"),
                secrets: [EndpointSecret(WebhookSecret(using: &generator))]
            )
            _ = try await registry.create(endpoint, request: nil)
        }
    }
}
