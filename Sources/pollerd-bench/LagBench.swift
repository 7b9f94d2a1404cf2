import BenchPlan
import Histogram
import NIOCore
import Poller
import RedisClient
import Synchronization

/// How late due watches are polled, and how soon listeners hear of a change, while many others
/// wait for times far away.
struct LagBench: Sendable {
    private static let interval = Duration.seconds(2)

    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        try await fillFar()
        try await store.fill(try store.keys(plan.rate * 2, prefix: "hot"))
        let handler = BenchHandler(eventEvery: 10) { watch in
            // All are enqueued at once: the first wait spreads them, as real ones are.
            let isFirst = watch.state.attempts == 0
            return isFirst ? .milliseconds(Int64.random(in: 0...2000)) : Self.interval
        }
        let listener = listen(handler)
        defer { listener.cancel() }
        try await store.withWorker(handler, concurrency: plan.concurrency) {
            // The rounds that enqueue and spread the watches are not counted.
            try await store.clock.sleep(for: .seconds(4))
            handler.restart()
            let (cpu, redis) = (ProcessCPU.seconds, try await store.cpu())
            let began = store.clock.now
            try await store.clock.sleep(for: plan.span)
            let took = began.duration(to: store.clock.now) / .seconds(1)
            let (polls, lag) = handler.tally.withLock { (Double($0.polls), $0.lagUs.latency) }
            let title = "due lag beside \(plan.pending) pending"
            report.add("polls at a pace", "paced_polls_per_s", polls / took, "/s")
            let worker = (ProcessCPU.seconds - cpu) / polls * 1e6
            report.add("  worker CPU a poll", "paced_worker_cpu_us_per_poll", worker, "µs")
            let server = (try await store.cpu() - redis) / polls * 1e6
            report.add("  Redis CPU a poll", "paced_redis_cpu_us_per_poll", server, "µs")
            report.add(title, "due_lag_ms", lag)
        }
        let published = handler.tally.withLock { $0.publishUs.latency }
        report.add("commit to subscriber", "publish_latency_ms", published)
        try await store.clear()
    }

    /// What waiting watches cost while nothing is due.
    func measureIdle(_ report: inout BenchReport) async throws {
        try await fillFar()
        let handler = BenchHandler { _ in Self.interval }
        try await store.withWorker(handler, concurrency: plan.concurrency) {
            try await store.clock.sleep(for: .seconds(2))
            let (cpu, redis) = (ProcessCPU.seconds, try await store.cpu())
            let began = store.clock.now
            try await store.clock.sleep(for: plan.span)
            let took = began.duration(to: store.clock.now) / .seconds(1)
            let worker = (ProcessCPU.seconds - cpu) / took * 100
            let server = (try await store.cpu() - redis) / took * 100
            let title = "idle with \(plan.pending) pending, worker"
            report.add(title, "idle_worker_percent", worker, "% of a core")
            report.add("  Redis", "idle_redis_percent", server, "% of a core")
        }
        try await store.clear()
    }

    /// Watches that were polled once and are due in an hour or more.
    private func fillFar() async throws {
        guard plan.pending > 0 else { return }
        try await store.fill(try store.keys(plan.pending, prefix: "far"))
        let handler = BenchHandler { _ in .milliseconds(Int64.random(in: 3_600_000...36_000_000)) }
        try await store.withWorker(handler, concurrency: 1024) {
            while handler.tally.withLock({ $0.polls }) < plan.pending {
                try await store.clock.sleep(for: .milliseconds(100))
            }
        }
    }

    private func listen(_ handler: BenchHandler) -> Task<Void, Never> {
        let pattern = "\(BenchStore.namespace):events:*"
        let subscription = store.client.subscribe(channels: [], patterns: [pattern])
        // Hears while the stage runs, which cancels it at its end.
        return Task {
            for await event in subscription {
                guard case .message(_, _, let payload) = event,
                    let event = Event(json: String(buffer: payload))
                else { continue }
                handler.tally.withLock { tally in
                    guard let sent = tally.sent.removeValue(forKey: event.id.description) else {
                        return
                    }
                    _ = tally.publishUs.record(UInt64(sent.duration(to: .now) / .microseconds(1)))
                }
            }
        }
    }
}
