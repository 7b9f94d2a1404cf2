import Foundation
import Synchronization

/// A program that runs beside this one and is ended with it.
///
/// Its standard input is a pipe that ends when this process does, however that comes: what should
/// not outlive us watches it. (Linux's parent-death signal follows the *thread* that started the
/// child, and Swift's threads come and go.) Its errors go nowhere: it says what counts in a log of
/// its own, or on standard output.
///
/// A class, because it owns the process, which it ends at the latest when it goes away.
package final class ChildProcess: Sendable {
    private struct Running {
        let process: Process
        let input: Pipe
        let output: Pipe
    }

    /// What a program needs of this process's environment to run at all: where programs, libraries,
    /// temporary files and the user's are, and how text and time are written.
    ///
    /// Nothing else is inherited: this process may have been given keys and passwords by its environment,
    /// and whoever may look at the child's would have them.
    package static var bareEnvironment: [String: String] {
        bare(ProcessInfo.processInfo.environment)
    }

    /// Of an environment, what may be handed on.
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
    ///   - environment: Its environment; ``bareEnvironment`` when nil.
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
            try withUnblockedSignals { try running.process.run() }
        } catch {
            throw ProgramError("\(file) cannot be run: \(error)")
        }
        self.running = Mutex(running)
    }

    deinit {
        kill()
    }

    /// Its process id; 0 after its end was asked for.
    package var pid: Int32 { running.withLock { $0?.process.processIdentifier ?? 0 } }

    /// Whether it has ended without being told to.
    package var hasDied: Bool { running.withLock { $0.map { !$0.process.isRunning } ?? false } }

    /// What it has written to standard output up to a line with these words, for which it waits.
    ///
    /// - Parameters:
    ///   - words: What the line has.
    ///   - limit: How long to wait.
    /// - Returns: The text, whole lines; nil when the program has ended or the time is up.
    package func output(until words: String, within limit: Duration) -> String? {
        guard let output = running.withLock({ $0?.output.fileHandleForReading }) else { return nil }
        let end = ContinuousClock.now + limit
        var text = ""
        while true {
            if let found = text.range(of: words), text[found.upperBound...].contains("\n") { break }
            guard let data = Self.next(of: output, until: end) else { return nil }
            text += String(decoding: data, as: UTF8.self)
        }
        // Read on and forget: a full pipe would stop the program.
        output.readabilityHandler = { output in
            if output.availableData.isEmpty { output.readabilityHandler = nil }
        }
        return text
    }

    /// What comes next of a pipe; nil when it has ended or the time is up.
    private static func next(of output: FileHandle, until end: ContinuousClock.Instant) -> Data? {
        while true {
            let restMs = (end - .now) / .milliseconds(1)
            guard restMs > 0 else { return nil }
            var waiting = pollfd(
                fd: output.fileDescriptor,
                events: Int16(truncatingIfNeeded: POLLIN),
                revents: 0
            )
            // Nothing within the time, or a signal: the loop looks at the clock again.
            guard unsafe poll(&waiting, 1, Int32(exactly: restMs.rounded(.up)) ?? .max) > 0 else {
                continue
            }
            let data = output.availableData
            return data.isEmpty ? nil : data
        }
    }

    /// Says lines to its standard input, and returns the line that it answers on standard output.
    ///
    /// - Parameters:
    ///   - lines: What it reads; a program that takes its time reads on meanwhile.
    ///   - limit: How long to wait for the answer.
    /// - Returns: The answer; nil when the program has ended or the time is up.
    package func request(_ lines: [String], within limit: Duration) -> String? {
        let ends = running.withLock { running in
            running.map { ($0.input.fileHandleForWriting, $0.output.fileHandleForReading) }
        }
        guard let (input, output) = ends else { return nil }
        let text = lines.map { $0 + "\n" }.joined()
        // One that has ended reads nothing, and answers nothing.
        guard (try? input.write(contentsOf: Data(text.utf8))) != nil else { return nil }
        let end = ContinuousClock.now + limit
        var reply = Data()
        while reply.last != UInt8(ascii: "\n") {
            guard let data = Self.next(of: output, until: end) else { return nil }
            reply += data
        }
        return String(decoding: reply.dropLast(), as: UTF8.self)
    }

    /// Asks it to end (SIGTERM), waits, and kills what is still there then.
    package func stop(within patience: Duration) {
        guard let process = take() else { return }
        process.terminate()
        if !hasEnded(process, within: patience) { end(process) }
    }

    /// Kills it (SIGKILL); returns when it is gone.
    package func kill() {
        if let process = take() { end(process) }
    }

    /// From now on its end is no news.
    private func take() -> Process? {
        running.withLock { running in
            defer { running = nil }
            return running?.process
        }
    }

    private func end(_ process: Process) {
        Foundation.kill(process.processIdentifier, SIGKILL)
        // A second: nothing survives SIGKILL longer, but for a disk that does not answer.
        _ = hasEnded(process, within: .seconds(1))
    }

    /// Not `waitUntilExit`: on Linux it spins when another thread started the process.
    private func hasEnded(_ process: Process, within patience: Duration) -> Bool {
        let end = ContinuousClock.now + patience
        while process.isRunning, ContinuousClock.now < end { usleep(2000) }
        return !process.isRunning
    }
}
