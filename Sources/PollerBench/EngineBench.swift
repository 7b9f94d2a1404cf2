import Poller
import Synchronization

/// Polls as fast as it goes.
struct EngineBench: Sendable {
    /// What a second of polling came to.
    struct Throughput: Sendable {
        let pollsPerSecond: Double
        let workerCPUUs: Double
        let redisCPUUs: Double
    }

    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        try await store.fill(try store.keys(4096))
        let engine = try await saturate(NoUpstream(), concurrency: 1024)
        try await store.clear()
        report.add("polls, no-op upstream", "engine_polls_per_s", engine.pollsPerSecond, "/s")
        report.add("  worker CPU a poll", "engine_worker_cpu_us_per_poll", engine.workerCPUUs, "µs")
        report.add("  Redis CPU a poll", "engine_redis_cpu_us_per_poll", engine.redisCPUUs, "µs")
    }

    /// Polls what is in the store, again and again.
    func saturate(_ upstream: any Upstream, concurrency: Int) async throws -> Throughput {
        let handler = BenchHandler(upstream: upstream) { _ in .zero }
        return try await store.withWorker(handler, concurrency: concurrency) {
            // A moment to reach the steady state.
            try await store.clock.sleep(for: .milliseconds(500))
            handler.restart()
            let (cpu, redis) = (ProcessCPU.seconds, try await store.cpu())
            let began = store.clock.now
            try await store.clock.sleep(for: plan.span)
            let (polls, failures) = handler.tally.withLock { ($0.polls, $0.failures) }
            guard polls > 0, failures == 0 else {
                throw BenchError("\(failures) polls of \(polls) failed")
            }
            let took = began.duration(to: store.clock.now) / .seconds(1)
            return Throughput(
                pollsPerSecond: Double(polls) / took,
                workerCPUUs: (ProcessCPU.seconds - cpu) / Double(polls) * 1e6,
                redisCPUUs: (try await store.cpu() - redis) / Double(polls) * 1e6
            )
        }
    }
}
