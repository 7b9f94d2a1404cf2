import Foundation
import Synchronization

/// A script of `Tests/Peers` that runs while a test needs it, and its output.
///
/// This is a class because it owns a process. Losing the last reference kills the process.
package final class PythonPeer: Sendable {
    /// The interpreter: `POLLER_TEST_PYTHON`, or `python3` from the path.
    package static let python =
        ProcessInfo.processInfo.environment["POLLER_TEST_PYTHON"] ?? "python3"

    /// Returns whether a module can be imported; tests that need a missing one are skipped.
    package static func has(_ module: String) -> Bool { modules.contains(module) }

    /// The modules that can be imported, of those the peers need.
    ///
    /// They are determined once, by reading to the end: `waitUntilExit` in many concurrent tests can block every thread
    /// available to tasks.
    private static let modules: Set<String> = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let wanted = "('http.client', 'websockets', 'aiosmtpd', 'standardwebhooks')"
        process.arguments = [
            python, "-c",
            "import importlib.util\nfor name in \(wanted):\n"
                + "    if importlib.util.find_spec(name): print(name)",
        ]
        let printed = Pipe()
        process.standardOutput = printed
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return [] }
        let text = String(
            decoding: printed.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        return Set(text.split(separator: "\n").map(String.init))
    }()

    /// The output so far; each line is parsed once, because a waiting test checks every few milliseconds.
    private struct Output: Sendable {
        var rest = Data()
        var lines: [JSONLine] = []

        /// Parses the complete lines.
        mutating func parse() {
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let text = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                if let line = JSONLine(text) { lines.append(line) }
                rest.removeSubrange(rest.startIndex...end)
            }
        }
    }

    private let process: Process
    private let input: Pipe
    private let output: Mutex<Output>

    /// Starts a script.
    package init(_ script: String, _ arguments: [String] = []) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [Self.python, root.appendingPathComponent("Tests/Peers/\(script)").path] + arguments
            // The peer ends when a test process is killed.
            + ["--until-eof"]
        input = Pipe()
        let printed = Pipe()
        process.standardInput = input
        process.standardOutput = printed
        output = Mutex(Output())
        try process.run()
        // A separate thread reads the output: readability handlers lose the end of it if the process ends before they
        // are called.
        Thread.detachNewThread { [weak self] in
            while case let data = printed.fileHandleForReading.availableData, !data.isEmpty {
                self?.output.withLock { $0.rest.append(data) }
            }
            // Foundation keeps the process, and with it the pipe.
            try? printed.fileHandleForReading.close()
        }
    }

    deinit {
        // Foundation's monitor reaps it. Waiting here would block a thread that tasks need.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// The output so far, one JSON object per line.
    package var lines: [JSONLine] {
        output.withLock { output in
            output.parse()
            return output.lines
        }
    }

    /// Waits for a line that `matches`.
    @discardableResult
    package func line(
        _ fact: String,
        within limit: Duration = .seconds(30),
        _ matches: (JSONLine) -> Bool
    ) async throws -> JSONLine {
        var found: JSONLine?
        do {
            try await eventually(fact, within: limit) {
                found = lines.first(where: matches)
                return found != nil
            }
        } catch is ConditionTimeout {
            throw ConditionTimeout(fact: "\(fact); the peer \(state)", limit: limit)
        }
        guard let found else { throw ConditionTimeout(fact: fact, limit: limit) }
        return found
    }

    /// The state of the process, and the size of its output.
    private var state: String {
        let (said, rest) = output.withLock { ($0.lines.count, $0.rest.count) }
        let life = process.isRunning ? "runs" : "ended with \(process.terminationStatus)"
        return "\(life), has printed \(said) lines and \(rest) bytes of another"
    }

    /// Returns the port it listens on.
    package func port() async throws -> Int {
        let line = try await line("the peer listens", within: .seconds(20)) { $0["port"] != nil }
        return line["port"]?.int ?? 0
    }

    /// Writes a line to its standard input.
    package func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }
}
