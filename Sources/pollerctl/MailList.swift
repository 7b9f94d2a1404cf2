import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl mail list`: the suppressed recipients.
struct MailList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List recipients who are sent no mail, the newest first, with masked addresses.",
        discussion:
            "pollerctl mail lift --entry ID sends mails to one of them again. With --json one a line."
    )

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await server.perform { client in
            var table = Table(
                "ID",
                "RECIPIENT",
                "REASON",
                "SINCE",
                "ACCOUNT",
                optional: ["ACCOUNT"]
            )
            var (left, cursor, hasMore) = (limit, String?.none, true)
            while hasMore, left > 0 {
                let page = try await client.read(
                    "/v1/mail/suppressions",
                    query: [
                        ("limit", "\(min(left, ServerOptions.pageMax))"), ("cursor", cursor),
                    ]
                )
                let entries = page.member("data")?.elements ?? []
                if server.json {
                    for entry in entries { Terminal.printJSON("\(entry)") }
                } else {
                    table.rows += entries.map(row)
                }
                left -= entries.count
                cursor = page.member("next")?.string
                hasMore = cursor != nil
            }
            if !server.json { table.print() }
            guard Terminal.isErrorInteractive else { return }
            if hasMore { Terminal.printError("there are more; see --limit") }
            if left == limit { Terminal.printError("mails are sent to every recipient") }
        }
    }

    private func row(_ entry: RawJSON) -> [Table.Cell] {
        [
            .init(entry.text("id"), .strong), .init(entry.text("recipient")),
            .init(entry.text("reason")), entry.time("since")?.cell() ?? .init("-"),
            .init(entry.text("account")),
        ]
    }
}
