package import Foundation
import Synchronization

/// A real `redis-server` that a test starts, stops, kills, freezes and restarts.
///
/// It listens on a free loopback port and on a Unix socket in its own temporary folder. Port, folder and options stay
/// the same over restarts. This is a class because it owns a process. Losing the last reference kills the server and
/// removes the folder, and a watchdog kills it if the test process itself is killed. All calls block until their effect
/// is complete.
package final class RedisServerProcess: Sendable {
    /// Why a server cannot be used.
    package struct Failure: Error, CustomStringConvertible {
        /// The problem, with the end of the server's log.
        package let description: String
    }

    /// Whether data survives ``kill()`` and ``restart()``.
    package enum Persistence: Sendable {
        /// Nothing is kept.
        case none
        /// An append-only file, synced every second as in production.
        case appendOnly
    }

    /// The kind of server.
    package enum Mode: Sendable {
        /// A data server, alone or as master or replica.
        case server
        /// A node of a Cluster; see ``RedisClusterProcess``.
        case clusterNode
        /// A sentinel with these lines in its configuration; see ``RedisSentinelSet``.
        case sentinel([String])
    }

    /// The PEM files of a server that accepts only TLS; it requires no client certificate.
    package struct TLSFiles: Sendable {
        package let certificate: URL
        /// Its private key.
        package let key: URL
        /// The authority that signed it.
        package let authority: URL

        /// Creates the set of files.
        package init(certificate: URL, key: URL, authority: URL) {
            self.certificate = certificate
            self.key = key
            self.authority = authority
        }
    }

    /// How long a start may take: it takes milliseconds, but machines under load are slow.
    private static let startTimeout: TimeInterval = 60
    /// How often a start is retried if another process has taken the port meanwhile.
    private static let portAttempts = 5

    /// The server's own folder: log, socket, data.
    package let directory: URL
    /// The port on 127.0.0.1: TCP, or TLS if files for it were given.
    package let port: Int
    /// The Unix domain socket.
    package let socketPath: String
    private let arguments: [String]
    private let running: Mutex<Running?>

    /// A server and the shell that outlives this process to kill it.
    ///
    /// The shell waits for the end of a pipe that only this process holds open.
    private struct Running {
        let server: Process
        let watchdog: Process
        let lifeline: Pipe

        init(server: Process, in directory: URL) throws {
            self.server = server
            self.lifeline = Pipe()
            self.watchdog = Process()
            watchdog.executableURL = URL(fileURLWithPath: "/bin/sh")
            let end = "read -r line || { kill -9 \(server.processIdentifier); rm -rf \"$0\"; }"
            watchdog.arguments = ["-c", end, directory.path]
            watchdog.standardInput = lifeline
            watchdog.standardError = FileHandle.nullDevice
            try RedisServerProcess.run(watchdog)
        }
    }

    /// Starts a server; `arguments` are options as on its command line, `["--requirepass", "x"]`.
    package init(
        mode: Mode = .server,
        persistence: Persistence = .none,
        tls: TLSFiles? = nil,
        arguments: [String] = []
    ) throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("redis-\(UUID().uuidString.prefix(8))", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var attempt = 1
        while true {
            let port = try LoopbackPort.find(withClusterBus: mode.isClusterNode)
            do {
                let options = try Self.options(mode, port, tls, persistence, directory) + arguments
                let running = try Self.launch(options, in: directory)
                self.directory = directory
                self.port = port
                self.socketPath = directory.appendingPathComponent("redis.sock").path
                self.arguments = options
                self.running = Mutex(running)
                return
            } catch {
                guard attempt < Self.portAttempts else {
                    try? FileManager.default.removeItem(at: directory)  // the start's error matters
                    throw error
                }
                attempt += 1
            }
        }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: directory)  // a temporary folder may stay behind
    }

    /// The server as a URL without login, for plain TCP.
    package var url: String { "redis://127.0.0.1:\(port)" }

    /// The process id while it runs.
    package var pid: Int32? {
        running.withLock { $0?.server.processIdentifier }
    }

    /// The server's log since it was last started.
    package var log: String { Self.log(in: directory) }

    /// Ends the server with SIGTERM: data is saved as configured.
    package func stop() {
        end(with: SIGTERM)
    }

    /// Ends the server at once, like `kill -9`.
    package func kill() {
        end(with: SIGKILL)
    }

    /// Freezes the server: its sockets stay open and it does not respond.
    package func pause() {
        signal(SIGSTOP)
    }

    /// Resumes a frozen server.
    package func resume() {
        signal(SIGCONT)
    }

    /// Starts the server again on the same port and data; kills it first if it runs.
    package func restart() throws {
        kill()
        let launched = try Self.launch(arguments, in: directory)
        running.withLock { $0 = launched }
    }

    /// Returns the command line before a test's own options.
    private static func options(
        _ mode: Mode,
        _ port: Int,
        _ tls: TLSFiles?,
        _ persistence: Persistence,
        _ directory: URL
    ) throws -> [String] {
        func file(_ name: String) -> String { directory.appendingPathComponent(name).path }
        if case .sentinel(let lines) = mode {
            // A sentinel keeps its state in its configuration file.
            let common = [
                "port \(port)", "bind 127.0.0.1", "dir \(directory.path)",
                "logfile \(file("redis.log"))",
            ]
            let text = (common + lines).joined(separator: "\n") + "\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file("sentinel.conf")))
            return [file("sentinel.conf"), "--sentinel"]
        }
        var options = [
            "--bind", "127.0.0.1", "--dir", directory.path, "--save", "",
            "--unixsocket", file("redis.sock"), "--logfile", file("redis.log"),
            "--appendonly", persistence == .appendOnly ? "yes" : "no",
            "--enable-debug-command", "yes",
        ]
        if let tls {
            options += [
                "--port", "0", "--tls-port", "\(port)", "--tls-auth-clients", "no",
                "--tls-cert-file", tls.certificate.path, "--tls-key-file", tls.key.path,
                "--tls-ca-cert-file", tls.authority.path,
            ]
        } else {
            options += ["--port", "\(port)"]
        }
        if mode.isClusterNode {
            options += ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        }
        return options
    }

    private func signal(_ number: Int32) {
        running.withLock { running in
            if let server = running?.server, server.isRunning {
                Foundation.kill(server.processIdentifier, number)
            }
        }
    }

    private func end(with number: Int32) {
        running.withLock { running in
            guard let ending = running.take() else { return }
            // First, because the server's number may later belong to another process.
            ending.watchdog.terminate()
            Self.awaitExit(of: ending.watchdog)
            if ending.server.isRunning {
                Foundation.kill(ending.server.processIdentifier, number)
                // A frozen process receives SIGTERM only once it resumes.
                Foundation.kill(ending.server.processIdentifier, SIGCONT)
            }
            Self.awaitExit(of: ending.server)
        }
    }

    /// Waits for a process that was signalled to end.
    ///
    /// Foundation's own `waitUntilExit` spins forever on Linux if it is called on another thread than the one that
    /// started the process.
    private static func awaitExit(of process: Process) {
        let deadline = Date(timeIntervalSinceNow: startTimeout)
        while process.isRunning, Date() < deadline { Thread.sleep(forTimeInterval: 0.002) }
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// Starts the executable and waits until its log says that it accepts connections.
    private static func launch(_ arguments: [String], in directory: URL) throws -> sending Running {
        let logFile = directory.appendingPathComponent("redis.log")
        try Data().write(to: logFile)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["redis-server"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try run(process)
        let deadline = Date(timeIntervalSinceNow: startTimeout)
        while process.isRunning, Date() < deadline {
            let log = log(in: directory)
            if log.contains("eady to accept connections") || log.contains("Sentinel ID is") {
                return try Running(server: process, in: directory)
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        awaitExit(of: process)
        throw Failure(
            description: "redis-server does not start with \(arguments): "
                + String(log(in: directory).suffix(2_000))
        )
    }

    /// Starts a process that receives signals.
    ///
    /// A child inherits the signal mask of the thread that starts it, and on Linux the threads of Swift's pool block
    /// SIGTERM: a server started from a task would never receive the signal of ``stop()``.
    private static func run(_ process: Process) throws {
        var none = sigset_t()
        var usual = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, &usual)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &usual, nil) }
        try process.run()
    }

    private static func log(in directory: URL) -> String {
        let file = directory.appendingPathComponent("redis.log")
        // A missing file means that nothing has been logged yet.
        return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    }
}

extension RedisServerProcess.Mode {
    fileprivate var isClusterNode: Bool {
        if case .clusterNode = self { return true }
        return false
    }
}

extension RedisServerProcess {
    /// Runs a command through `redis-cli` and returns its output, without the last line end.
    ///
    /// It sets servers up without the client under test, and blocks.
    @discardableResult
    package func cli(_ command: String...) throws -> String {
        try cli(command)
    }

    /// Runs a command given as an array.
    @discardableResult
    package func cli(_ command: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["redis-cli", "-h", "127.0.0.1", "-p", "\(port)"] + command
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        // Foundation keeps the process, and with it the pipe. With more than about 1,300 open descriptors, it reads
        // past the end of their list when it starts the next process.
        try output.fileHandleForReading.close()
        let text = String(decoding: data, as: UTF8.self)
        return text.trimmingCharacters(in: .newlines)
    }

    /// Runs a command that must return `OK`.
    package func must(_ command: String...) throws {
        let answer = try cli(command)
        guard answer == "OK" else {
            throw Failure(description: "\(command) on port \(port): \(answer)")
        }
    }

    /// Waits until a command's output satisfies a condition; blocks for at most a minute.
    package func await(_ command: String..., until isWanted: (String) -> Bool) throws {
        let deadline = Date(timeIntervalSinceNow: 60)
        var answer = ""
        while Date() < deadline {
            answer = try cli(command)
            if isWanted(answer) { return }
            Thread.sleep(forTimeInterval: 0.02)
        }
        throw Failure(description: "\(command) on port \(port) still answers: \(answer)")
    }

    /// Runs blocking work away from the threads that run tasks.
    static func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
