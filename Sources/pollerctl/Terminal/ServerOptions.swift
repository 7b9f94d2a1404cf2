import ArgumentParser
import Foundation
import PollerClient

/// The options of every command: the server and the output format.
struct ServerOptions: ParsableArguments {
    @Option(help: "The server (default: POLLER_URL, or http://127.0.0.1:8080).")
    var url: String?

    @Option(
        help: ArgumentHelp(
            "PEM file of certificates to trust instead of the system's; POLLER_CA_FILE.",
            valueName: "path"
        )
    )
    var caFile: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    /// How long a command waits for a key that has used up its rate, for example by a long list.
    private static let rateTimeout = Duration.seconds(30)

    /// Runs a command against the server; prints failures and throws the exit status.
    func perform(_ body: (PollerClient) async throws -> Void) async throws {
        let environment = ProcessInfo.processInfo.environment
        let server = url ?? environment["POLLER_URL"].flatMap { $0.isEmpty ? nil : $0 }
        let trusted =
            caFile ?? environment["POLLER_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 }
        let key = try Terminal.secret("POLLER_API_KEY", environment)
        let address = server ?? "http://127.0.0.1:8080"
        do {
            try await PollerClient.withClient(
                url: address,
                apiKey: key,
                caFile: trusted
            ) { client in
                var client = client
                client.rateTimeout = Self.rateTimeout
                try await body(client)
            }
        } catch let error as PollerError {
            let failure = Failure(error, hasKey: key != nil, of: address)
            Terminal.printError(failure.message)
            throw ExitCode(failure.exitStatus)
        }
    }
}

extension ServerOptions {
    /// The page size of requests.
    static let pageMax = 500

    /// Runs `body` for each item.
    ///
    /// If the server rejects some of several items, they are reported, the others continue, and
    /// `ExitCode(1)` is thrown at the end. Any other error, such as a missing permission or an
    /// unavailable server, would meet the others too. It is thrown, and the number of items left is
    /// reported.
    func each<Item: CustomStringConvertible>(
        _ items: [Item],
        _ body: (Item) async throws -> Void
    ) async throws {
        var failed = 0
        for (number, item) in items.enumerated() {
            do {
                try await body(item)
            } catch PollerError.problem(let problem)
                where items.count > 1 && [400, 404, 409, 422].contains(problem.status)
            {
                failed += 1
                Terminal.printError("\(item): \(problem.userMessage)")
            } catch let error as PollerError where items.count > 1 {
                let left = items.count - number
                Terminal.printError("stopped at \(item): \(left) of \(items.count) are left")
                throw error
            }
        }
        guard failed == 0 else { throw ExitCode(1) }
    }
}

/// The account and kind of a source.
struct NameOptions: ParsableArguments {
    @Option(help: "The account at the upstream (default: default).")
    var account: String?

    @Option(
        help: """
            source, payment_intent, setup_intent, charge or http (default: by Stripe's prefix, else \
            http).
            """
    )
    var kind: String?

    func name(_ source: String) -> WatchName {
        WatchName(source, account: account, kind: kind(of: source))
    }
}
