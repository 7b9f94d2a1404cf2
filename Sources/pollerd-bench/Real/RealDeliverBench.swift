import BenchPlan
import PollerIdentity
import PollerRedis
import PollerWatches
import Synchronization

/// Measures the cost of a webhook for a real `pollerd notifier` process with a backlog and an independent recipient.
///
/// The CPU is that of the notifier, from reading the outbox to recording the delivery, and of Redis. The webhooks are
/// counted by the notifier's metrics, and the recipient's count must agree.
struct RealDeliverBench: Sendable {
    private static let endpoints = 20
    private static let eventsEach = 3
    /// Pending webhooks per second of the span, so that the backlog outlasts it.
    private static let rateMax = 8000

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String

    func measure(_ report: inout BenchReport) async throws {
        guard let receiver = try await NginxServer.start() else {
            report.note("webhooks of a notifier", "not measured: needs nginx")
            return
        }
        defer { receiver.stop() }
        let wanted = try await record(receiver)
        let notifier = try NotifierProcess(redisURL: redisURL)
        defer { notifier.stop() }
        guard let process = notifier.process else { throw BenchError("the notifier has ended") }
        // The first connections and the first reads of the outbox are not counted.
        var first = try await readCounts(process, receiver)
        while first.sent * 20 < wanted {
            try await store.clock.sleep(for: .milliseconds(20))
            first = try await readCounts(process, receiver)
        }
        let end = store.clock.now.advanced(by: plan.span)
        var last = first
        while store.clock.now < end, last.sent * 20 < wanted * 19 {
            try await store.clock.sleep(for: .milliseconds(50))
            last = try await readCounts(process, receiver)
        }
        report.add("notifier", try figures(first, last))
        try await store.clear()
    }

    /// Records events of many watches, each for one of the endpoints, and returns their number.
    private func record(_ receiver: NginxServer) async throws -> Int {
        let count = max(Self.rateMax * Int(plan.span / .seconds(1)) / Self.eventsEach, 100)
        let keys = try store.keys(min(count, plan.watches), prefix: "hook")
        return try await store.record(Self.eventsEach, of: keys) {
            "\(receiver.url)/hook/\($0 % Self.endpoints)"
        }
    }

    /// All counts at one time.
    private struct Counts: Sendable {
        let at: ContinuousClock.Instant
        let sent: Int
        /// The requests that nginx had received before and after ``sent`` was read.
        let received: ClosedRange<Int>
        let notifierCPU: Double
        let redisCPU: Double
    }

    private func readCounts(
        _ process: PollerdProcess,
        _ receiver: NginxServer
    ) async throws -> Counts {
        let before = try await receiver.requests()
        let metrics = try await process.metrics()
        let all = metrics.total("poller_deliveries_total")
        guard all == metrics.total("poller_deliveries_total", "result=\"delivered\"") else {
            throw BenchError("webhooks were not accepted")
        }
        return Counts(
            at: store.clock.now,
            sent: Int(all),
            received: before...max(before, try await receiver.requests()),
            notifierCPU: try process.cpuSeconds(),
            redisCPU: try await store.cpu()
        )
    }

    private func figures(_ first: Counts, _ last: Counts) throws -> BenchReport {
        let sent = Double(last.sent - first.sent)
        let least = last.received.lowerBound - first.received.upperBound
        let most = last.received.upperBound - first.received.lowerBound
        // Only one side counts the webhooks in flight at either reading.
        guard sent > 0, sent >= Double(least - 256), sent <= Double(most + 256) else {
            let received = "\(least) to \(most)"
            throw BenchError("the notifier counts \(Int(sent)) webhooks, nginx \(received)")
        }
        let seconds = first.at.duration(to: last.at) / .seconds(1)
        let own = (last.notifierCPU - first.notifierCPU) / sent
        let redis = (last.redisCPU - first.redisCPU) / sent
        var report = BenchReport()
        report.add("webhooks of a notifier", "webhooks_per_s", sent / seconds, "/s")
        report.add("  notifier CPU a webhook", "notifier_cpu_us", cpu: own)
        report.add("  Redis CPU a webhook", "redis_cpu_us", cpu: redis)
        return report
    }
}
