import Foundation
import Synchronization

/// A redis-server of our own on a free loopback port, for `pollerd all --embedded` and `bench`.
///
/// Set up as a cluster's Redis should be: append-only file, no eviction. A class, because it
/// owns a process, which it ends at the latest when it goes away.
final class EmbeddedRedis: Sendable {
    /// How long the server may take to answer its first PING.
    private static let startTimeout: Duration = .seconds(10)
    /// How long it may take to write its file and go, before it is killed.
    private static let stopTimeout: Duration = .seconds(5)

    let port: Int
    private let process: Mutex<Process?>
    private let temporaryFolder: String?

    /// Starts a server and returns when it accepts connections.
    ///
    /// - Parameter dataFolder: where its append-only file lives; nil makes a temporary folder
    ///   that goes away with the server.
    /// - Throws: ``ConfigurationError`` when redis-server is not installed or does not start.
    init(dataFolder: String?) throws {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/usr/local/bin"
        let program = path.split(separator: ":").map { "\($0)/redis-server" }
            .first(where: FileManager.default.isExecutableFile(atPath:))
        guard let program else {
            throw ConfigurationError(
                "redis-server is not on PATH: install it (apt-get install redis-server, "
                    + "brew install redis) or set POLLER_REDIS_URL and leave --embedded out"
            )
        }
        let folder: String
        if let dataFolder {
            folder = dataFolder
            temporaryFolder = nil
        } else {
            folder = NSTemporaryDirectory() + "/pollerd-redis-\(UUID().uuidString)"
            temporaryFolder = folder
        }
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        port = try FreePort.find()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes",
            "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
            "--logfile", "redis.log",
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try withUnblockedSignals { try process.run() }
        self.process = Mutex(process)
        try awaitStart(log: folder + "/redis.log")
    }

    deinit {
        stop()
    }

    /// The URL of database 0.
    var url: String { "redis://127.0.0.1:\(port)/0" }

    /// Waits until the server says that it accepts connections.
    private func awaitStart(log path: String) throws {
        let end = ContinuousClock.now + Self.startTimeout
        while ContinuousClock.now < end, !hasDied {
            // No file yet reads as nothing said yet.
            let log = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            if log.contains("eady to accept connections") { return }
            usleep(5000)
        }
        stop()
        throw ConfigurationError("redis-server did not start; it says why in \(path)")
    }

    /// Whether the server has ended without being told to.
    var hasDied: Bool {
        process.withLock { $0.map { !$0.isRunning } ?? false }
    }

    /// Ends the server and removes what was temporary.
    func stop() {
        let process = self.process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let process else { return }
        process.terminate()
        let end = ContinuousClock.now + Self.stopTimeout
        while process.isRunning, ContinuousClock.now < end {
            usleep(10_000)
        }
        // Not waitUntilExit: on Linux it spins when another thread started the process.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        // A folder that cannot be removed is the system's to clean: it is in its temporary place.
        if let temporaryFolder { try? FileManager.default.removeItem(atPath: temporaryFolder) }
    }
}
