import BenchPlan
import Histogram
import NIOCore
import PollerWatches
import RedisClient
import Synchronization

/// Measures the lag of due polls and the latency to subscribers, while many other watches wait for distant times.
struct LagBench: Sendable {
    /// The interval between two polls of a watch, short so that a few hundred watches give the planned rate.
    private static let interval = Duration.seconds(2)

    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        try await store.fillFar(plan.pending)
        try await store.fill(try store.keys(plan.rate * 2, prefix: "hot"))
        let pace = BenchHandler.spread(over: Self.interval)
        let handler = BenchHandler(eventEvery: 10, pace: pace)
        let listener = listen(handler)
        defer { listener.cancel() }
        try await store.withWorker(handler, concurrency: plan.concurrency) {
            // The first rounds, which enqueue and spread the watches, are not counted.
            try await store.clock.sleep(for: .seconds(4))
            handler.restart()
            let cost = try await store.cost(of: plan.span)
            let (polls, lag) = handler.tally.withLock { (Double($0.polls), $0.lagUs.latency) }
            let (worker, server) = (cost.ownCPU / polls, cost.redisCPU / polls)
            report.add("polls at a pace", "paced_polls_per_s", polls / cost.seconds, "/s")
            report.add("  worker CPU a poll", "paced_worker_cpu_us_per_poll", cpu: worker)
            report.add("  Redis CPU a poll", "paced_redis_cpu_us_per_poll", cpu: server)
            report.add("due lag with \(plan.pending) pending", "due_lag_ms", lag)
        }
        let published = handler.tally.withLock { $0.publishUs.latency }
        report.add("commit to subscriber", "publish_latency_ms", published)
    }

    /// Measures the cost of waiting watches while none is due.
    func measureIdle(_ report: inout BenchReport) async throws {
        try await store.fillFar(plan.pending)
        let handler = BenchHandler { _ in Self.interval }
        try await store.withWorker(handler, concurrency: plan.concurrency) {
            try await store.clock.sleep(for: .seconds(2))
            let cost = try await store.cost(of: plan.span)
            let worker = cost.ownCPU / cost.seconds * 100
            let server = cost.redisCPU / cost.seconds * 100
            let title = "idle with \(plan.pending) pending, worker"
            report.add(title, "idle_worker_percent", worker, "% of a core")
            report.add("  Redis", "idle_redis_percent", server, "% of a core")
        }
    }

    private func listen(_ handler: BenchHandler) -> Task<Void, Never> {
        let pattern = "\(BenchStore.namespace):events:*"
        let subscription = store.client.subscribe(channels: [], patterns: [pattern])
        // Receives events until the stage ends and cancels it.
        return Task {
            for await event in subscription {
                guard case .message(_, _, let payload) = event,
                    let event = Event(json: String(buffer: payload))
                else { continue }
                handler.recordReceived(event.id.description)
            }
        }
    }
}
