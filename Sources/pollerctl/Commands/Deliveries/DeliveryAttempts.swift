import ArgumentParser
import PollerClient

/// `pollerctl delivery attempts`: what was tried.
struct DeliveryAttempts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attempts",
        abstract: "Show the newest attempts of a delivery, oldest first.",
        discussion: """
            With --json one attempt a line, with the beginning of the answer. MS is the time of \
            resolving, connecting, waiting for the answer, and all in all.
            """
    )

    @Argument(help: "The delivery: dlv_….")
    var id: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let attempts = try await client.attempts(of: id)
            if server.json {
                for attempt in attempts { Terminal.printLine(attempt.json) }
            } else {
                var table = DeliveryAttempt.table
                table.rows = attempts.map(\.row)
                table.print()
            }
        }
    }
}
