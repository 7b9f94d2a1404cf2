import Foundation
import PollerBench
import Synchronization

/// This program as a notifier, in a process of its own, in the namespace of the measurements.
final class NotifierProcess: NotifierPeer {
    let gatewayPort: Int
    private let redisURL: String
    private let process = Mutex<Process?>(nil)

    /// Starts it on a free port and returns when it listens.
    init(redisURL: String) async throws {
        self.redisURL = redisURL
        gatewayPort = try FreePort.find()
        try await start()
    }

    deinit {
        stop()
    }

    var pid: Int32 { process.withLock { $0?.processIdentifier ?? 0 } }

    func restart() async throws {
        process.withLock { process in
            guard let process else { return }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try await start()
    }

    func stop() {
        process.withLock { $0.take() }?.terminate()
    }

    private func start() async throws {
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/exe"
            )
        )
        process.arguments = ["notifier"]
        var environment = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("POLLER_") && !$0.key.hasPrefix("STRIPE_")
        }
        environment["POLLER_REDIS_URL"] = redisURL
        environment["POLLER_NAMESPACE"] = BenchRun.namespace
        environment["POLLER_GATEWAY_BIND"] = "127.0.0.1:\(gatewayPort)"
        environment["POLLER_ADMIN_BIND"] = "127.0.0.1:0"
        environment["POLLER_LOG_LEVEL"] = "error"
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try withUnblockedSignals { try process.run() }
        self.process.withLock { $0 = process }
        // An end of file before the word means that it has died.
        var said = ""
        while !said.contains("pollerd ready") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                throw ConfigurationError("the notifier to be measured did not start")
            }
            said += String(decoding: data, as: UTF8.self)
        }
    }
}
