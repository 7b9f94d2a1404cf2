import ArgumentParser
import PollerClient

/// `pollerctl endpoint list`: the endpoints, the oldest first.
struct EndpointList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List endpoints, the oldest first.",
        discussion: "With --json one endpoint a line."
    )

    @Option(help: "Only those of this account.")
    var account: String?

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await server.perform { client in
            try await server.list(Endpoint.table, limit: limit, \.json, \.row) { limit, cursor in
                try await client.endpoints(account: account, limit: limit, cursor: cursor)
            }
        }
    }
}
