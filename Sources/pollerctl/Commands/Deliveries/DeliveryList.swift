import ArgumentParser
import PollerClient

/// `pollerctl delivery list`: how deliveries stand.
struct DeliveryList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List deliveries.",
        discussion: "With --json one delivery a line."
    )

    @Option(help: "Only those to this endpoint: ep_….")
    var endpoint: String?

    @Option(help: "Only those about this source.")
    var source: String?

    @Option(help: "Only those that are waiting, in_flight, failing, dead or done.")
    var state: String?

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
        guard source != nil || (names.account == nil && names.kind == nil) else {
            throw ValidationError(
                "--account and --kind tell which source is meant: name it with --source, or leave "
                    + "them out"
            )
        }
    }

    func run() async throws {
        try await server.perform { client in
            try await server.list(Delivery.table, limit: limit, \.json, \.row) { limit, cursor in
                try await client.deliveries(
                    endpoint: endpoint,
                    source: source.map(names.name),
                    state: state,
                    limit: limit,
                    cursor: cursor
                )
            }
        }
    }
}
