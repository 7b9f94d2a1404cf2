import BenchPlan
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerWatches
import Synchronization

/// Measures the fairness between lanes, and a lane at its limit.
struct LaneBench: Sendable {
    private static let backlog = 100_000

    let store: BenchStore
    let plan: BenchPlan

    /// Measures the lag of a small lane next to one that is 100,000 watches behind.
    ///
    /// Both are in one partition, and every slot of the worker is in use all the time.
    func fairness(_ report: inout BenchReport) async throws {
        let large = try store.keys(Self.backlog, lanes: 1)
        let home = store.watches.partition(of: large[0])
        guard let account = try neighbour(of: home) else {
            throw BenchError("no account shares the partition")
        }
        let small = try store.keys(20, prefix: "small").map {
            WatchKey(account: account, source: $0.source, kind: .source)
        }
        try await store.fill(large)
        try await store.fill(small)
        let handler = BenchHandler(
            upstream: NoUpstream(delay: .milliseconds(20)),
            counting: { $0.key.account == account },
            pace: {
                $0.key.account == account ? .milliseconds(Int64.random(in: 500...1500)) : .zero
            }
        )
        try await store.withWorker(handler, concurrency: 64) {
            try await store.clock.sleep(for: .seconds(2))
            handler.restart()
            try await store.clock.sleep(for: plan.span)
            let (polls, lag) = handler.tally.withLock { (Double($0.polls), $0.lagUs.latency) }
            let rate = polls / (plan.span / .seconds(1))
            report.add("small lane next to 100,000 overdue watches", "small_lane_lag_ms", lag)
            report.add("  polls of both", "fairness_polls_per_s", rate, "/s")
        }
    }

    /// Measures the polls under a limit of 100/s.
    func limit(_ report: inout BenchReport) async throws {
        try await store.fill(try store.keys(2000, lanes: 1))
        let handler = BenchHandler(upstream: NoUpstream(delay: .milliseconds(50))) { _ in .zero }
        let limit = LaneLimit(ratePerSecond: 100, burst: 10, inFlightMax: 50)
        try await store.withWorker(handler, concurrency: 64, lane: limit) {
            try await store.clock.sleep(for: .seconds(1))
            handler.restart()
            try await store.clock.sleep(for: plan.span)
            let starts = handler.tally.withLock { $0.starts.sorted() }
            var most = 0
            var first = 0
            for last in starts.indices {
                while starts[first].duration(to: starts[last]) >= .seconds(1) { first += 1 }
                most = max(most, last - first + 1)
            }
            let rate = Double(starts.count) / (plan.span / .seconds(1))
            report.add("limit 100/s, burst 10: used", "limit_used_percent", rate, "%")
            report.add("  most in any second", "limit_most_in_a_second", Double(most), "polls")
        }
    }

    private func neighbour(of partition: Int) throws -> AccountID? {
        for number in 0..<10_000 {
            let account = try AccountID("acct_small\(number)")
            let source = SourceID(unchecked: "src_1")
            let key = WatchKey(account: account, source: source, kind: .source)
            if store.watches.partition(of: key) == partition { return account }
        }
        return nil
    }
}
