import ArgumentParser
import Foundation
import PollerClient

/// Which server, and how to print: the options of every command.
struct ServerOptions: ParsableArguments {
    @Option(help: "The server; POLLER_URL, or http://127.0.0.1:8080.")
    var url: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    /// Runs a command against the server; failures become a message and an exit status.
    func perform(_ body: (PollerClient) async throws -> Void) async throws {
        let environment = ProcessInfo.processInfo.environment
        let server = url ?? environment["POLLER_URL"].flatMap { $0.isEmpty ? nil : $0 }
        let key = try Terminal.secret("POLLER_API_KEY", environment)
        do {
            try await PollerClient.withClient(
                url: server ?? "http://127.0.0.1:8080",
                apiKey: key,
                body
            )
        } catch let error as PollerError {
            let failure = Failure(error, hasKey: key != nil)
            Terminal.printError(failure.message)
            throw ExitCode(failure.exitStatus)
        }
    }
}
