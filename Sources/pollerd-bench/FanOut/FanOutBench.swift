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
        let (own, redis) = (try cpu(), try await store.cpu())
        let began = store.clock.now
        for number in 0..<Self.events {
            for key in keys {
                let source = try SourceID("\(key.source)x\(number)")
                let one = WatchKey(account: key.account, source: source, kind: key.kind)
                _ = try await store.watches.enqueue([try NewWatch(key: one)])
                _ = try await store.watches.cancel(one)
            }
        }
        let end = began.advanced(by: Self.timeout)
        while try await store.watches.stats().undelivered != 0 {
            guard store.clock.now < end else { throw BenchError("events were not marked in time") }
            try await store.clock.sleep(for: .milliseconds(5))
        }
        let seconds = began.duration(to: store.clock.now) / .seconds(1)
        let (ownSpent, redisSpent) = (try cpu() - own, try await store.cpu() - redis)
        var made = 0.0
        for notifier in notifiers {
            made += try await notifier.metrics().total("poller_delivery_marks_total")
        }
        let needed = Double(Self.endpoints * Self.events)
        report.add(title, "\(member)_marks_per_s", needed / seconds, "/s")
        report.add("  Redis CPU a mark", "\(member)_redis_cpu_us", redisSpent * 1e6 / needed, "µs")
        report.add(
            "  notifier CPU a mark",
            "\(member)_notifier_cpu_us",
            ownSpent * 1e6 / needed,
            "µs"
        )
        report.add("  marks made of those needed", "\(member)_made", made / needed, "×")
        for notifier in notifiers { notifier.kill() }
        try await store.clear()
    }

    /// Registers endpoints of accounts with events in as many partitions, and returns one key per account.
    private func register(_ accounts: Int) async throws -> [WatchKey] {
        let layout = try await StoreLayout.loadOrCreate(
            on: store.client,
            namespace: BenchStore.namespace
        )
        let registry = RedisEndpointStore(
            client: store.client,
            layout: layout,
            logger: store.logger
        )
        var homes: Set<Int> = []
        let keys = try store.keys(100, prefix: "told").filter {
            homes.count < accounts && homes.insert(store.watches.partition(of: $0)).inserted
        }
        var generator = SystemRandomNumberGenerator()
        for account in keys.map(\.account) {
            for number in 0..<Self.endpoints / accounts {
                let endpoint = Endpoint(
                    id: EndpointID(using: &generator),
                    account: account,
                    url: try NotifyURL("http://127.0.0.1:9/\(number)"),
                    secrets: [EndpointSecret(WebhookSecret(using: &generator))]
                )
                _ = try await registry.create(endpoint, request: nil)
            }
        }
        return keys
    }
}
