import ChildPrograms
import Foundation
import Synchronization

/// A `pollerd notifier` in a process of its own, so that its CPU and memory are not ours; it works
/// in the namespace of the measurements.
///
/// A class, because it owns the process and changes it.
final class NotifierProcess: Sendable {
    /// Connecting to Redis, loading scripts and binding take a moment; a busy machine takes its time.
    private static let startTimeout = Duration.seconds(30)

    /// Where its gateway listens, on the loopback interface; the same after each start.
    let gatewayPort: Int
    private let redisURL: String
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts it on a free port and returns when it listens.
    init(redisURL: String) async throws {
        self.redisURL = redisURL
        gatewayPort = try FreePort.find()
        try start()
    }

    /// Its process now.
    var pid: Int32 { process.withLock { $0?.pid ?? 0 } }

    /// Kills it (`kill -9`) and starts it again; returns when it listens.
    func restart() async throws {
        process.withLock { $0 }?.kill()
        try start()
    }

    /// Ends it.
    func stop() {
        process.withLock { $0.take() }?.stop(within: .seconds(10))
    }

    private func start() throws {
        var environment = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("POLLER_") && !$0.key.hasPrefix("STRIPE_")
        }
        environment["POLLER_REDIS_URL"] = redisURL
        environment["POLLER_NAMESPACE"] = BenchStore.namespace
        environment["POLLER_GATEWAY_BIND"] = "127.0.0.1:\(gatewayPort)"
        environment["POLLER_ADMIN_BIND"] = "127.0.0.1:0"
        environment["POLLER_LOG_LEVEL"] = "error"
        let process = try ChildProcess(
            try Programs.own("pollerd"),
            ["notifier"],
            environment: environment
        )
        guard process.output(until: "pollerd ready", within: Self.startTimeout) != nil else {
            throw ProgramError("the notifier to be measured did not start")
        }
        self.process.withLock { $0 = process }
    }
}
