import BenchPlan
import Poller
import PollerRedis

/// What it costs to mark events for very many endpoints: those of one account, one after the other in one
/// partition of the outbox, and those of four accounts at once.
///
/// The reader runs in this process; nothing is told to anybody.
struct FanOutBench: Sendable {
    private static let endpoints = 10_000
    /// Of each account; the first one finds deliveries that are new and lanes that are empty.
    private static let events = 5

    let store: BenchStore

    func measure(_ report: inout BenchReport) async throws {
        for accounts in [1, 4] {
            let figures = try await marks(accounts)
            let title = accounts == 1 ? "events for 10,000 endpoints" : "  of four accounts at once"
            let member = accounts == 1 ? "fan_out" : "fan_out_of_four"
            report.add(title, "\(member)_marks_per_s", figures.perSecond, "/s")
            report.add("  Redis CPU a mark", "\(member)_redis_cpu_us", figures.redisUs, "µs")
            report.add("  CPU of ours a mark", "\(member)_notifier_cpu_us", figures.ownUs, "µs")
            try await store.clear()
        }
    }

    private func marks(
        _ accounts: Int
    ) async throws -> (perSecond: Double, redisUs: Double, ownUs: Double) {
        let layout = try await StoreLayout.agreed(on: store.client, namespace: BenchStore.namespace)
        let registry = RedisEndpointStore(
            client: store.client,
            layout: layout,
            logger: store.logger
        )
        var homes: Set<Int> = []
        // In as many partitions.
        let keys = try store.keys(100, prefix: "told").filter {
            homes.count < accounts && homes.insert(store.watches.partition(of: $0)).inserted
        }
        try await register(Self.endpoints / accounts, for: keys.map(\.account), in: registry)
        let directory = EndpointDirectory(
            store: registry,
            partition: store.deliveries.place(of:),
            logger: store.logger
        )
        try await directory.refresh()
        for number in 0..<Self.events {
            for key in keys {
                let source = try SourceID("\(key.source)x\(number)")
                let one = WatchKey(account: key.account, source: source, kind: key.kind)
                _ = try await store.watches.enqueue([try NewWatch(key: one)])
                _ = try await store.watches.cancel(one)
            }
        }
        let reader = OutboxReader(
            outbox: store.watches,
            deliveries: store.deliveries,
            directory: directory,
            owner: store.owner,
            clock: store.clock,
            logger: store.logger
        )
        let (own, redis) = (ProcessCPU.seconds, try await store.cpu())
        let began = store.clock.now
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await reader.run() }
            while (try? await store.watches.stats().undelivered) != 0 {
                try? await store.clock.sleep(for: .milliseconds(20))
            }
            group.cancelAll()
        }
        let seconds = began.duration(to: store.clock.now) / .seconds(1)
        let marks = Double(Self.endpoints * Self.events)
        return (
            marks / seconds, (try await store.cpu() - redis) * 1e6 / marks,
            (ProcessCPU.seconds - own) * 1e6 / marks
        )
    }

    private func register(
        _ count: Int,
        for accounts: [AccountID],
        in registry: RedisEndpointStore
    ) async throws {
        var chance = SystemRandomNumberGenerator()
        for account in accounts {
            for number in 0..<count {
                let endpoint = Endpoint(
                    id: EndpointID(using: &chance),
                    account: account,
                    url: try NotifyURL("http://127.0.0.1:9/\(number)"),
                    secrets: [EndpointSecret(WebhookSecret(using: &chance))]
                )
                _ = try await registry.create(endpoint, request: nil)
            }
        }
    }
}
