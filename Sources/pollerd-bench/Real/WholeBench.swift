import AsyncHTTPClient
import BenchPlan
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerNet
import PollerUpstreams
import StripeAPI

/// Measures the whole path against the sandbox, compared with bare GETs of the same objects.
struct WholeBench: Sendable {
    let store: BenchStore
    let plan: BenchPlan
    let sandboxURL: String

    func measure(_ report: inout BenchReport) async throws {
        let sources = try await bulk(4096)
        let floor = try await floor(sources)
        let upstream = StripeUpstream(
            accounts: StripeAccounts([
                .main: StripeClientConfiguration(
                    key: StripeKey("sk_test_bench"),
                    baseURL: sandboxURL
                )
            ]),
            resolver: SystemResolver(clock: store.clock),
            wallClock: BenchStore.wallClock
        )
        try await store.fill(sources)
        let engine = EngineBench(store: store, plan: plan)
        let (polls, cost) = try await engine.saturate(upstream, concurrency: plan.concurrency)
        let workerCPU = cost.ownCPU / polls
        report.add("bare AsyncHTTPClient GET", "http_floor_per_s", floor.perSecond, "/s")
        report.add("  CPU a GET", "http_floor_cpu_us", cpu: floor.cpu)
        report.add("polls, whole path", "polls_per_s", polls / cost.seconds, "/s")
        report.add("  worker CPU a poll", "worker_cpu_us_per_poll", cpu: workerCPU)
        report.add("  as multiple of a GET", "worker_cpu_ratio", workerCPU / floor.cpu, "×")
        report.add("  Redis CPU a poll", "redis_cpu_us_per_poll", cpu: cost.redisCPU / polls)
    }

    /// Measures a loop of GETs with AsyncHTTPClient, with the worker's concurrency.
    private func floor(_ sources: [WatchKey]) async throws -> (perSecond: Double, cpu: Double) {
        let urls = sources.map { "\(sandboxURL)/v1/sources/\($0.source)" }
        let clock = store.clock
        let cpu = ProcessCPU.seconds
        let began = clock.now
        let end = began.advanced(by: plan.span)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<plan.concurrency {
                group.addTask {
                    var done = 0
                    while clock.now < end {
                        var request = HTTPClientRequest(url: urls[(number + done) % urls.count])
                        request.headers.add(name: "Authorization", value: "Bearer sk_test_bench")
                        let response = try await HTTPClient.shared.execute(
                            request,
                            timeout: .seconds(8)
                        )
                        _ = try await response.body.collect(upTo: 1 << 20)
                        done += 1
                    }
                    return done
                }
            }
            return try await group.reduce(0, +)
        }
        let took = began.duration(to: clock.now) / .seconds(1)
        return (Double(count) / took, (ProcessCPU.seconds - cpu) / Double(count))
    }

    private func bulk(_ count: Int) async throws -> [WatchKey] {
        try await BenchUpstream.bulk(count, at: sandboxURL).map {
            WatchKey(account: .main, source: try SourceID($0), kind: .source)
        }
    }
}
