import ArgumentParser
import PollerClient

/// `pollerctl list`: many watches.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List watches, open ones first.",
        discussion: "With --json one watch a line."
    )

    /// Watches asked for at a time.
    private static let pageMax = 500

    @Option(help: "open or closed.")
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
        try await server.perform { client in
            var table = Table("SOURCE", "STATE", "STATUS", "SEQ", "POLLS", "NEXT POLL")
            var left = limit
            var cursor: String?
            var hasMore = true
            while hasMore, left > 0 {
                let page = try await client.list(
                    state: state,
                    status: status,
                    account: names.account,
                    kind: names.kind,
                    limit: min(left, Self.pageMax),
                    cursor: cursor
                )
                left -= page.items.count
                cursor = page.next
                hasMore = page.next != nil
                if server.json {
                    for watch in page.items { Terminal.printLine(watch.json) }
                } else {
                    table.rows += page.items.map(\.row)
                }
            }
            if !server.json { table.print() }
            if hasMore, Terminal.isErrorInteractive {
                Terminal.printError("there are more; see --limit")
            }
        }
    }
}
