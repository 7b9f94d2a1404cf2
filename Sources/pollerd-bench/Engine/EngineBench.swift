import BenchPlan
import Poller
import Synchronization

/// Measures polls at full speed.
struct EngineBench: Sendable {
    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        try await store.fill(try store.keys(4096))
        let (polls, cost) = try await saturate(NoUpstream(), concurrency: 1024)
        report.add("polls, no-op upstream", "engine_polls_per_s", polls / cost.seconds, "/s")
        report.add("  worker CPU a poll", "engine_worker_cpu_us_per_poll", cpu: cost.ownCPU / polls)
        report.add("  Redis CPU a poll", "engine_redis_cpu_us_per_poll", cpu: cost.redisCPU / polls)
    }

    /// Polls the watches in the store repeatedly; returns the number of polls in the planned span, and its cost.
    func saturate(
        _ upstream: any Upstream,
        concurrency: Int
    ) async throws -> (polls: Double, cost: BenchStore.Cost) {
        let handler = BenchHandler(upstream: upstream) { _ in .zero }
        return try await store.withWorker(handler, concurrency: concurrency) {
            // A moment to reach the steady state.
            try await store.clock.sleep(for: .milliseconds(500))
            handler.restart()
            let cost = try await store.cost(of: plan.span)
            let (polls, failures) = handler.tally.withLock { ($0.polls, $0.failures) }
            guard polls > 0, failures == 0 else {
                throw BenchError("\(failures) polls of \(polls) failed")
            }
            return (Double(polls), cost)
        }
    }
}

/// Measures the rate of enqueueing and the memory of a waiting watch.
struct EnqueueBench: Sendable {
    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        let lanes = max(plan.watches / 100, 1)
        let many = try await fill(lanes: lanes)
        let one = try await fill(lanes: 1)
        report.add("enqueue, engine alone", "enqueue_per_s", many.perSecond, "/s")
        report.add("  into one lane", "enqueue_one_lane_per_s", one.perSecond, "/s")
        report.add("memory of a watch, lanes of 100", "bytes_per_watch", many.bytes, "bytes")
        let title = "  in one lane of \(plan.watches)"
        report.add(title, "bytes_per_watch_one_lane", one.bytes, "bytes")
    }

    private func fill(lanes: Int) async throws -> (perSecond: Double, bytes: Double) {
        let keys = try store.keys(plan.watches, lanes: lanes)
        let before = try await store.usedMemory()
        let began = store.clock.now
        try await store.fill(keys)
        let took = began.duration(to: store.clock.now) / .seconds(1)
        let bytes = (try await store.usedMemory() - before) / Double(keys.count)
        try await store.clear()
        return (Double(keys.count) / took, bytes)
    }
}
