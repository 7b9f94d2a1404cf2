import ChildPrograms
import Synchronization

/// A `pollerd notifier` in a separate process, which can be killed and restarted on the same port.
///
/// It is a class because it owns the process and replaces it.
final class NotifierProcess: Sendable {
    /// The port of its gateway on the loopback interface, the same after each start.
    let gatewayPort: Int
    private let redisURL: String
    private let running: Mutex<PollerdProcess?>

    /// Starts it on a free port and returns when it listens.
    init(redisURL: String) throws {
        self.redisURL = redisURL
        gatewayPort = try FreePort.find()
        running = Mutex(try Self.start(redisURL, gatewayPort))
    }

    /// The current process.
    var process: PollerdProcess? { running.withLock { $0 } }

    /// Kills it (`kill -9`), starts it again, and returns when it listens.
    func restart() throws {
        process?.kill()
        let new = try Self.start(redisURL, gatewayPort)
        running.withLock { $0 = new }
    }

    /// Ends it.
    func stop() {
        running.withLock { $0.take() }?.stop()
    }

    private static func start(_ redisURL: String, _ port: Int) throws -> PollerdProcess {
        try PollerdProcess(
            "notifier",
            redisURL: redisURL,
            environment: [
                "POLLER_GATEWAY_BIND": "127.0.0.1:\(port)",
                // The recipients of the measurements are on this machine.
                "POLLER_ALLOW_CIDRS": "127.0.0.0/8",
            ]
        )
    }
}
