import Foundation
import Testing

/// A run of the real `pollerctl` program, which the package builds next to the tests.
struct CommandRun {
    let status: Int32
    let output: String
    let errors: String

    /// Runs the program against a server and waits for its end.
    static func pollerctl(
        _ arguments: String...,
        url: String,
        key: String? = nil,
        input: String = ""
    ) async throws -> CommandRun {
        try await run(arguments, url: url, key: key, input: input)
    }

    /// Runs the program with an array of arguments.
    static func run(
        _ arguments: [String],
        url: String,
        key: String? = nil,
        input: String = ""
    ) async throws -> CommandRun {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        environment["POLLER_URL"] = url
        environment["POLLER_API_KEY"] = key
        process.environment = environment
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        process.standardInput = inputPipe
        process.standardOutput = outputPipe
        process.standardError = errorPipe
        // `waitUntilExit` is not used: on Linux it spins when another thread started the process.
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { end.yield($0.terminationStatus) }
        try process.run()
        async let output = onThread { outputPipe.fileHandleForReading.text }
        async let errors = onThread { errorPipe.fileHandleForReading.text }
        let writer = inputPipe.fileHandleForWriting
        await onThread {
            // The program may exit without reading all input.
            try? writer.write(contentsOf: Data(input.utf8))
            try? writer.close()
        }
        let status = try #require(await ended.first { _ in true })
        return CommandRun(status: status, output: await output, errors: await errors)
    }

    private static var program: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("pollerctl")
    }

    /// Runs a blocking operation on a new thread, because the server under test needs Swift's few pool threads.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}

extension FileHandle {
    /// Everything up to the end; a broken pipe counts as the end.
    fileprivate var text: String {
        String(decoding: (try? readToEnd()) ?? Data(), as: UTF8.self)
    }
}
