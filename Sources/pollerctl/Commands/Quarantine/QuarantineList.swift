import ArgumentParser
import PollerClient

/// `pollerctl quarantine list`: what is there, and why.
struct QuarantineList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List quarantined watches with the reason, those closed first at the top.",
        discussion: "With --json one watch a line."
    )

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        let table = Table("SOURCE", "ACCOUNT", "KIND", "POLLS", "WHY")
        try await server.perform { client in
            try await server.list(table, limit: limit, \.json, \.quarantineRow) { limit, cursor in
                try await client.quarantine(
                    account: names.account,
                    kind: names.kind,
                    limit: limit,
                    cursor: cursor
                )
            }
        }
    }
}

extension Watch {
    /// The watch as a row of the quarantine.
    fileprivate var quarantineRow: [Table.Cell] {
        [
            .init(source, .strong), .init(account), .init(kind), .init("\(attempts)"),
            .init(lastError ?? "its polls took the worker down", .careful),
        ]
    }
}
