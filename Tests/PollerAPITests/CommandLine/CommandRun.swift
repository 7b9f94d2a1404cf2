import Foundation

/// A run of the real `pollerctl`, which the package builds beside its tests.
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

    /// Runs the program with arguments that are at hand as an array.
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
        try process.run()
        // Pipes block, so each is drained on a thread of its own.
        async let output = read(outputPipe)
        async let errors = read(errorPipe)
        async let written: Void = write(input, to: inputPipe)
        let texts = try await (output, errors)
        // The program may end without reading all of it.
        try? await written
        process.waitUntilExit()
        return CommandRun(status: process.terminationStatus, output: texts.0, errors: texts.1)
    }

    private static var program: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("pollerctl")
    }

    @concurrent
    private static func read(_ pipe: Pipe) async throws -> String {
        String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    @concurrent
    private static func write(_ text: String, to pipe: Pipe) async throws {
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
    }
}
