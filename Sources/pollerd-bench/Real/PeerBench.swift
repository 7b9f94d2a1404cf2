import BenchPlan
import ChildPrograms
import Foundation
import PollerIdentity

/// Measures asynq under the loads of ``RealBench``: a separate process with the same upstream and the same Redis.
///
/// The program is built from `ops/peers/asynq`. Its CPU is the system's count, and its polls are nginx's count of
/// requests, as for a worker.
struct PeerBench: Sendable {
    /// The tasks that each second of preparation enqueues at least.
    private static let filledPerSecond = 5000
    private static let replyTimeout = Duration.seconds(60)

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String
    let server: NginxServer
    let program: String

    /// The reply to `report`.
    private struct Polls: Decodable {
        let polls: Int
        let failed: Int
        let lagMs: [String: Double]?

        private enum CodingKeys: String, CodingKey {
            case polls, failed
            case lagMs = "lag_ms"
        }
    }

    func measure(_ load: RealLoad) async throws -> BenchReport {
        let span = load.rate == nil ? .zero : load.warmUp + plan.span + RealBench.reserve
        let count = load.rate.map { $0 * Int(span / .seconds(1)) } ?? 2 * plan.concurrency
        let process = try start(load)
        defer { process.kill() }
        let preparing = Duration.milliseconds(1000 + count * 1000 / Self.filledPerSecond)
        let due = store.clock.now.advanced(by: preparing)
        let dueMs = BenchStore.wallClock().ms + preparing.ms
        guard try ask(process, "fill \(count) \(dueMs) \(span.ms)") == "ready" else {
            throw BenchError("\(program) did not enqueue its tasks")
        }
        if store.clock.now > due {
            throw BenchError("\(load.name), asynq: preparing takes too long")
        }
        try await store.clock.sleep(until: due.advanced(by: load.warmUp))
        _ = try ask(process, "report")
        let began = store.clock.now
        let (requests, own) = (try await server.requests(), try ProcessCPU.seconds(of: process.pid))
        let redis = try await store.cpu()
        try await store.clock.sleep(for: plan.span)
        let polls = Double(try await server.requests() - requests)
        let seconds = began.duration(to: store.clock.now) / .seconds(1)
        let workerCPU = try ProcessCPU.seconds(of: process.pid) - own
        let redisCPU = try await store.cpu() - redis
        let counted = try JSONDecoder().decode(
            Polls.self,
            from: Data(try ask(process, "report").utf8)
        )
        // Only one side counts the requests in flight at either reading.
        let difference = polls - Double(counted.polls)
        let slack = Double(max(counted.polls / 50, plan.concurrency))
        guard polls > 0, counted.failed == 0, difference.magnitude <= slack else {
            throw BenchError(
                "\(load.name): asynq counts \(counted.polls) polls and \(counted.failed) failures, "
                    + "nginx \(Int(polls)) requests"
            )
        }
        process.kill()
        try await store.clear()
        var report = BenchReport()
        report.add("asynq, \(load.title)", "polls_per_s", polls / seconds, "/s")
        report.add("  worker CPU a poll", "worker_cpu_us", cpu: workerCPU / polls)
        report.add("  Redis CPU a poll", "redis_cpu_us", cpu: redisCPU / polls)
        if let lag = counted.lagMs, let p50 = lag["p50"], let p99 = lag["p99"], let max = lag["max"]
        {
            report.add("  due lag", "due_lag_ms", .init(p50: p50, p99: p99, max: max))
            report.addOffset("  earliest", "due_lag_min_ms", ms: lag["min"] ?? 0)
        }
        return report
    }

    private func start(_ load: RealLoad) throws -> ChildProcess {
        var environment = ChildProcess.bareEnvironment
        // Not an argument, because it contains the password.
        environment["PEER_REDIS_URL"] = redisURL
        environment["SSL_CERT_FILE"] = load.isTLS ? server.secured?.authority.file : nil
        let url = load.isTLS ? server.secured?.url ?? server.url : server.url
        let arguments = ["--url", url, "--concurrency", String(plan.concurrency)]
        return try ChildProcess(program, arguments, environment: environment)
    }

    private func ask(_ process: ChildProcess, _ line: String) throws -> String {
        guard let reply = process.request([line], within: Self.replyTimeout) else {
            throw BenchError("\(program) has ended or does not answer")
        }
        return reply
    }
}
