import ArgumentParser
import PollerClient

/// `pollerctl lane list`: what holds things up first.
struct LaneList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List lanes, what holds things up first.",
        discussion: "With --json one lane a line."
    )

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await server.perform { client in
            try await server.list(Lane.table, limit: limit, \.json, \.row) { limit, cursor in
                try await client.lanes(limit: limit, cursor: cursor)
            }
        }
    }
}
