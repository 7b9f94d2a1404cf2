import Foundation

extension RedisServerProcess {
    /// Runs a command through `redis-cli` and returns what it prints, without the last line end.
    ///
    /// For setting servers up, without the client under test. Blocks.
    @discardableResult
    package func cli(_ command: String...) throws -> String {
        try cli(command)
    }

    /// The same for a command made up elsewhere.
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
        let text = String(decoding: data, as: UTF8.self)
        return text.trimmingCharacters(in: .newlines)
    }

    /// The same for a command that must answer `OK`.
    package func must(_ command: String...) throws {
        let answer = try cli(command)
        guard answer == "OK" else {
            throw Failure(description: "\(command) on port \(port): \(answer)")
        }
    }

    /// Waits until a command's answer is as wanted; blocks, for 15 seconds at most.
    package func await(_ command: String..., until isWanted: (String) -> Bool) throws {
        let giveUp = Date(timeIntervalSinceNow: 15)
        var answer = ""
        while Date() < giveUp {
            answer = try cli(command)
            if isWanted(answer) { return }
            Thread.sleep(forTimeInterval: 0.02)
        }
        throw Failure(description: "\(command) on port \(port) still answers: \(answer)")
    }

    /// Does blocking work away from the threads that run tasks.
    static func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
