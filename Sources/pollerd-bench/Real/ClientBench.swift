import ArgumentParser
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PollerHTTP
import PollerIdentity
import PollerNet

/// `pollerd-bench client URL`: measures the cost of a GET by the cluster's HTTP client alone.
///
/// It is the lower bound for a poll. Compare it with `wrk -c 64` for the machine's capacity and with a whole poll for
/// the cost of the rest.
struct ClientBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client",
        abstract: "Measure bare GETs of a URL by the cluster's own HTTP client."
    )

    @Argument(help: "The URL to request repeatedly.")
    var url: String

    @Option(help: "Number of connections, each with one request at a time.")
    var connections = 64

    @Option(help: "Duration of the measurement in seconds, after one second of warm-up.")
    var seconds = 5

    @Option(help: "File of trusted certificates, instead of the system's.")
    var trust: String?

    @Flag(help: "Call from Swift's own threads instead of the event loops.")
    var offLoop = false

    func run() async throws {
        let target = try HTTPTarget(try NotifyURL(url))
        let resolver = SystemResolver(clock: ContinuousClock())
        let client = PooledClient(trustRoots: trust.map { .file($0) } ?? .default)
        let requestLoop = RequestLoop(
            client: client,
            origin: HTTPOrigin(isSecure: target.isSecure, host: target.host, port: target.port),
            addresses: try await resolver.addresses(host: target.host, port: target.port),
            path: target.path
        )
        _ = try await measure(requestLoop, span: .seconds(1))
        let cpu = ProcessCPU.seconds
        let count = try await measure(requestLoop, span: .seconds(seconds))
        let used = ProcessCPU.seconds - cpu
        await client.close()
        let us = used * 1e6 / Double(count)
        print("\(count / seconds) GETs/s, \((us * 10).rounded() / 10) µs of CPU a GET")
    }

    /// Counts the GETs within a span, on all connections.
    private func measure(_ requestLoop: RequestLoop, span: Duration) async throws -> Int {
        let end = ContinuousClock.now.advanced(by: span)
        let executors = MultiThreadedEventLoopGroup.singleton.makeIterator().map(LoopExecutor.init)
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<connections {
                let executor = offLoop ? nil : executors[number % executors.count]
                group.addTask(executorPreference: executor) {
                    try await requestLoop.run(until: end)
                }
            }
            return try await group.reduce(0, +)
        }
    }
}

/// Sends the same GET repeatedly.
private struct RequestLoop: Sendable {
    let client: PooledClient
    let origin: HTTPOrigin
    let addresses: [SocketAddress]
    let path: String

    func run(until end: ContinuousClock.Instant) async throws -> Int {
        var count = 0
        let headers: HTTPHeaders = [
            "host": origin.authority, "authorization": "Bearer sk_test_bench",
            "stripe-version": "2026-10-28.endive", "accept": "application/json",
        ]
        while ContinuousClock.now < end {
            let call = HTTPCall(
                .GET,
                path,
                at: origin,
                addresses: addresses,
                headers: headers,
                deadline: .now() + .seconds(10),
                bodyBytesMax: 1 << 20
            )
            switch await client.send(call)?.outcome {
            case .answered(let reply)? where reply.status < 400: count += 1
            case let other: throw ValidationError("not answered: \(String(describing: other))")
            }
        }
        return count
    }
}

/// An event loop as a task executor.
private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
