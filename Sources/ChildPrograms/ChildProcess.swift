import Foundation
import Synchronization

/// A child process that is ended together with this one.
///
/// Its standard input is a pipe that closes when this process ends, for any reason: a child that
/// must not outlive its parent watches it. (Linux's parent-death signal follows the *thread* that
/// started the child, and Swift's threads come and go.) ``SignalledEnd`` ends the others after a
/// signal. Its standard error is discarded: it reports important messages in its own log or on
/// standard output.
///
/// A class, because it owns the process and ends it when it is released.
package final class ChildProcess: Sendable {
    private struct Running {
        let process: Process
        let input: Pipe
        let output: Pipe
    }

    /// The environment variables that a program needs to run: the locations of programs, libraries,
    /// temporary files and the user's files, and the formats of text and time.
    ///
    /// Nothing else is inherited. The environment of this process may contain keys and passwords,
    /// which could be read from the child's environment.
    package static var bareEnvironment: [String: String] {
        bare(ProcessInfo.processInfo.environment)
    }

    /// Returns the variables of an environment that may be inherited.
    static func bare(_ environment: [String: String]) -> [String: String] {
        let names: Set<String> = [
            "PATH", "HOME", "TMPDIR", "LANG", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
        ]
        return environment.filter { names.contains($0.key) || $0.key.hasPrefix("LC_") }
    }

    private let running: Mutex<Running?>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - file: The path of its file.
    ///   - arguments: Its arguments, without its name.
    ///   - environment: Its environment; ``bareEnvironment`` when `nil`.
    /// - Throws: ``ProgramError`` when the system refuses.
    package init(
        _ file: String,
        _ arguments: [String],
        environment: [String: String]? = nil
    ) throws(ProgramError) {
        let running = Running(process: Process(), input: Pipe(), output: Pipe())
        running.process.executableURL = URL(fileURLWithPath: file)
        running.process.arguments = arguments
        running.process.environment = environment ?? Self.bareEnvironment
        running.process.standardInput = running.input
        running.process.standardOutput = running.output
        running.process.standardError = FileHandle.nullDevice
        do {
            try SignalledEnd.start(running.process)
        } catch {
            throw ProgramError("\(file) cannot be run: \(error)")
        }
        self.running = Mutex(running)
    }

    deinit {
        kill()
    }

    /// Its process ID; 0 after ``stop(within:)`` or ``kill()``.
    package var pid: Int32 { running.withLock { $0?.process.processIdentifier ?? 0 } }

    /// Whether it has ended without being stopped.
    package var hasDied: Bool { running.withLock { $0.map { !$0.process.isRunning } ?? false } }

    /// Waits for a line with these words and returns the standard output so far.
    ///
    /// - Parameters:
    ///   - words: A part of the line.
    ///   - limit: How long to wait.
    /// - Returns: The text, in whole lines; `nil` if the program has ended or the time is up.
    package func output(until words: String, within limit: Duration) -> String? {
        guard let output = running.withLock({ $0?.output.fileHandleForReading }) else { return nil }
        let end = ContinuousClock.now + limit
        var text = ""
        while true {
            if let found = text.range(of: words), text[found.upperBound...].contains("\n") { break }
            guard let data = Self.next(of: output, until: end) else { return nil }
            text += String(decoding: data, as: UTF8.self)
        }
        // Later output is read and discarded: a full pipe would block the program.
        output.readabilityHandler = { output in
            if output.availableData.isEmpty { output.readabilityHandler = nil }
        }
        return text
    }

    /// Returns the next bytes of a pipe; `nil` if it has ended or the time is up.
    private static func next(of output: FileHandle, until end: ContinuousClock.Instant) -> Data? {
        while true {
            let restMs = (end - .now) / .milliseconds(1)
            guard restMs > 0 else { return nil }
            var waiting = pollfd(
                fd: output.fileDescriptor,
                events: Int16(truncatingIfNeeded: POLLIN),
                revents: 0
            )
            // After a timeout or a signal, the loop checks the clock again.
            guard unsafe poll(&waiting, 1, Int32(exactly: restMs.rounded(.up)) ?? .max) > 0 else {
                continue
            }
            let data = output.availableData
            return data.isEmpty ? nil : data
        }
    }

    /// Writes lines to its standard input, and returns the next line of its standard output.
    ///
    /// - Parameters:
    ///   - lines: The input; a program that needs time for its reply must keep reading meanwhile.
    ///   - limit: How long to wait for the reply.
    /// - Returns: The reply; `nil` if the program has ended or the time is up.
    package func request(_ lines: [String], within limit: Duration) -> String? {
        let ends = running.withLock { running in
            running.map { ($0.input.fileHandleForWriting, $0.output.fileHandleForReading) }
        }
        guard let (input, output) = ends else { return nil }
        let text = lines.map { $0 + "\n" }.joined()
        // A program that has ended reads nothing and replies nothing.
        guard (try? input.write(contentsOf: Data(text.utf8))) != nil else { return nil }
        let end = ContinuousClock.now + limit
        var reply = Data()
        while reply.last != UInt8(ascii: "\n") {
            guard let data = Self.next(of: output, until: end) else { return nil }
            reply += data
        }
        return String(decoding: reply.dropLast(), as: UTF8.self)
    }

    /// Sends SIGTERM, waits, and then sends SIGKILL if the process is still running.
    package func stop(within patience: Duration) {
        guard let process = take() else { return }
        process.terminate()
        if !hasEnded(process, within: patience) { end(process) }
    }

    /// Sends SIGKILL; returns when the process has ended.
    package func kill() {
        if let process = take() { end(process) }
    }

    /// Takes the process, so that its end does not count as ``hasDied``.
    private func take() -> Process? {
        running.withLock { running in
            defer { running = nil }
            return running?.process
        }
    }

    private func end(_ process: Process) {
        Foundation.kill(process.processIdentifier, SIGKILL)
        // One second is enough after SIGKILL, unless a disk does not respond.
        _ = hasEnded(process, within: .seconds(1))
    }

    /// Waits for the end of a process.
    ///
    /// `waitUntilExit` is not used: on Linux it spins when another thread started the process.
    private func hasEnded(_ process: Process, within patience: Duration) -> Bool {
        let end = ContinuousClock.now + patience
        while process.isRunning, ContinuousClock.now < end { usleep(2000) }
        return !process.isRunning
    }
}
