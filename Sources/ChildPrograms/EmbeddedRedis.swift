import Foundation
import Synchronization

/// A redis-server for `pollerd all --embedded` and `bench`, on a free loopback port.
///
/// It is configured as the Redis of a cluster should be: append-only file, no eviction. A class,
/// because it removes its temporary folder when it is released.
///
/// *Other users of the machine* could reach its port and its files, and the store holds secrets of
/// receivers and payers. So each start has a new password, which is in no process argument. The
/// folder has mode 0700 and every file 0600. The password is in the file `redis.conf` in the
/// folder. Rejected: a Unix socket, because `redis-cli -u` and most client libraries do not accept
/// it as the printed URL.
package final class EmbeddedRedis: Sendable {
    /// How long the server may take until it accepts connections.
    private static let startTimeout: Duration = .seconds(10)
    /// How long it may take to write its file and exit before it is killed.
    private static let stopTimeout: Duration = .seconds(5)

    private let port: Int
    private let password: String
    private let process: ChildProcess
    private let temporaryFolder: String?
    /// The file with the password, which only this user may read.
    package let configurationFile: String

    /// Starts a server and returns when it accepts connections.
    ///
    /// - Parameter dataFolder: The folder of its append-only file; `nil` creates a temporary folder
    ///   that is removed with the server.
    /// - Throws: ``ProgramError`` when redis-server is not installed or does not start.
    package init(dataFolder: String?) throws {
        guard let program = Programs.installed("redis-server") else {
            throw ProgramError(
                "redis-server is not on PATH: install it (apt-get install redis-server, "
                    + "brew install redis) or set POLLER_REDIS_URL and omit --embedded"
            )
        }
        let folder: String
        if let dataFolder {
            folder = dataFolder
            temporaryFolder = nil
        } else {
            folder = NSTemporaryDirectory() + "/pollerd-redis-\(UUID().uuidString)"
            temporaryFolder = folder
            SignalledEnd.add(temporary: folder)
        }
        try PrivateFolder.make(folder)
        port = try FreePort.find()
        password = UUID().uuidString
        configurationFile = folder + "/redis.conf"
        try PrivateFolder.write("requirepass \(password)\n", to: configurationFile)
        // The shell sets the file mode mask, because in this process it would apply to all threads.
        process = try ChildProcess(
            "/bin/sh",
            [
                "-c", "umask 077; exec \"$0\" \"$@\"", program, configurationFile,
                "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly",
                "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy",
                "noeviction", "--logfile", "redis.log",
            ]
        )
        try awaitStart(log: folder + "/redis.log")
    }

    deinit {
        stop()
    }

    /// The URL of database 0, with the password.
    package var url: String { "redis://:\(password)@127.0.0.1:\(port)/0" }

    /// The URL without the password, for output that other users may read.
    package var publicURL: String { "redis://127.0.0.1:\(port)/0" }

    /// Waits until the server logs that it accepts connections.
    private func awaitStart(log path: String) throws {
        let end = ContinuousClock.now + Self.startTimeout
        while ContinuousClock.now < end, !hasDied {
            // A missing log file counts as empty.
            let log = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            if log.contains("eady to accept connections") { return }
            usleep(5000)
        }
        stop()
        throw ProgramError("redis-server did not start; see its log: \(path)")
    }

    /// Whether the server has ended without being stopped.
    package var hasDied: Bool { process.hasDied }

    /// Stops the server and removes the temporary folder.
    package func stop() {
        process.stop(within: Self.stopTimeout)
        if let temporaryFolder { SignalledEnd.remove(temporary: temporaryFolder) }
    }
}

/// Finds a loopback port on which no process listens.
package enum FreePort {
    /// The ports that were returned: the kernel may assign a released one again before its finder listens on it.
    private static let found = Mutex<Set<Int>>([])

    /// The number of attempts to find a port that was not returned before.
    private static let attempts = 100

    /// Returns a port that no earlier call of this process returned, unless nearly all of them were.
    package static func find() throws(ProgramError) -> Int {
        for _ in 1..<attempts {
            let port = try assigned()
            if found.withLock({ $0.insert(port).inserted }) { return port }
        }
        return try assigned()
    }

    /// Binds port 0, reads the port that the kernel assigned, and releases it.
    private static func assigned() throws(ProgramError) -> Int {
        let descriptor = socket(AF_INET, Int32(clamping: SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else {
            throw ProgramError("no socket can be opened: raise the limit of open files")
        }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (0x7F00_0001 as UInt32).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else {
            throw ProgramError(
                "no port of 127.0.0.1 can be bound: is the loopback interface up?"
            )
        }
        return Int(clamping: UInt16(bigEndian: address.sin_port))
    }
}
