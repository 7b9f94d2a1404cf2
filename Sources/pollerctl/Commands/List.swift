import ArgumentParser
import PollerClient

/// `pollerctl list`: many watches.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List watches, open ones first.",
        discussion: "With --json one watch a line."
    )

    @Option(help: "open, closed or quarantined.")
    var state: String?

    @Option(help: "Only with this status.")
    var status: String?

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        let table = Table("SOURCE", "STATE", "STATUS", "SEQ", "POLLS", "NEXT POLL")
        try await server.perform { client in
            try await server.list(table, limit: limit, \.json, \.row) { limit, cursor in
                try await client.list(
                    state: state,
                    status: status,
                    account: names.account,
                    kind: names.kind,
                    limit: limit,
                    cursor: cursor
                )
            }
        }
    }
}
