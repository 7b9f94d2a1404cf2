import Foundation
import Synchronization

/// A stripe-sandbox beside this program, in a process of its own so that its CPU is not ours.
final class SandboxProcess: Sendable {
    let url: String
    private let process: Mutex<Process?>

    /// Starts it on a free port and returns when it listens.
    init() async throws {
        let ownPath = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: ownPath).deletingLastPathComponent()
            .appendingPathComponent("stripe-sandbox")
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw ConfigurationError("stripe-sandbox is missing beside pollerd: build it too")
        }
        let output = Pipe()
        let process = Process()
        process.executableURL = program
        process.arguments = ["--bind", "127.0.0.1:0"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try withUnblockedSignals { try process.run() }
        // The first line names the address; an end of file instead means that it has died.
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let start = line.range(of: "http://") else {
            throw ConfigurationError("stripe-sandbox did not start")
        }
        url = String(line[start.lowerBound...].prefix { !$0.isWhitespace })
        self.process = Mutex(process)
    }

    deinit {
        stop()
    }

    /// Ends it.
    func stop() {
        process.withLock { $0.take() }?.terminate()
    }
}
