import BenchPlan
import PollerQueue
import PollerRedis
import PollerWatches
import RedisClient
import Synchronization

/// Measures how evenly the masters of a Redis Cluster share the work of many lanes.
///
/// A worker of this process polls watches of ``lanes`` lanes, each once within the measured span. An overloaded worker
/// would serve every partition in turn, and busy ones no more than quiet ones. Each master's executed commands and CPU
/// are read before and after. ``PartitionSpread`` computes the expected distribution.
struct MastersBench: Sendable {
    private static let lanes = 5000

    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        guard store.client.isCluster else {
            throw BenchError("this needs a Redis Cluster: set POLLER_REDIS_URL to one")
        }
        var masters = BenchReport()
        for partitions in plan.mastersPartitions {
            try await BenchStore.flush(store.client)
            let store = try await BenchStore(
                client: store.client,
                logger: store.logger,
                partitions: partitions
            )
            try await store.fill(try store.keys(plan.watches, lanes: Self.lanes))
            let handler = BenchHandler(pace: BenchHandler.spread(over: plan.span))
            let (before, after) = try await store.withWorker(handler, concurrency: 1024) {
                // The first time all are due at once. From the second time on each is due at a different time.
                while handler.tally.withLock(\.polls) < plan.watches {
                    try await store.clock.sleep(for: .milliseconds(100))
                }
                try await store.clock.sleep(for: plan.span)
                handler.restart()
                let before = try await loads(of: store)
                try await store.clock.sleep(for: plan.span)
                return (before, try await loads(of: store))
            }
            let used = zip(before, after).map { ($1.cpu - $0.cpu, $1.calls - $0.calls) }
            let polls = handler.tally.withLock(\.polls)
            let (cpu, calls) = (Self.hottest(used.map(\.0)), Self.hottest(used.map(\.1)))
            var figures = BenchReport()
            let title = "\(partitions) partitions on \(used.count) masters"
            let lanes = try store.keys(Self.lanes, lanes: Self.lanes).map(\.lane.description)
            let expected = PartitionSpread.hottest(
                partitions: partitions,
                masters: used.count,
                lanes: lanes
            )
            figures.add("\(title): commands, hottest by mean", "commands_ratio", calls, "")
            figures.add("  as computed", "expected_ratio", expected, "")
            figures.add("  CPU, hottest by mean", "cpu_ratio", cpu, "")
            figures.add("  polls", "polls_per_s", Double(polls) / (plan.span / .seconds(1)), "/s")
            masters.add(String(partitions), figures)
        }
        report.add("masters", masters)
    }

    /// Returns the maximum divided by the mean.
    private static func hottest(_ values: [Double]) -> Double {
        (values.max() ?? 0) / max(values.reduce(0, +) / Double(max(values.count, 1)), 1e-9)
    }

    /// Returns CPU seconds and executed commands of each master so far, in order of address.
    private func loads(of store: BenchStore) async throws -> [(cpu: Double, calls: Double)] {
        var loads: [String: (cpu: Double, calls: Double)] = [:]
        for section in ["cpu", "commandstats"] {
            for (node, line) in try await store.info(section) {
                var load = loads[node] ?? (0, 0)
                if line.hasPrefix("used_cpu_user:") || line.hasPrefix("used_cpu_sys:") {
                    load.cpu += line.number(behind: ":") ?? 0
                } else if line.hasPrefix("cmdstat_") {
                    load.calls += line.number(behind: "calls=") ?? 0
                }
                loads[node] = load
            }
        }
        return loads.sorted { $0.key < $1.key }.map(\.value)
    }
}
