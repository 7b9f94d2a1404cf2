import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl dispute due`: the disputes that can be answered, with their deadlines.
struct DisputesDue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "due",
        abstract: "List disputes of all accounts with their deadlines, the nearest first.",
        discussion: """
            Asks the cluster, which reads them from Stripe once a minute at most: it needs POLLER_URL and no key of \
            Stripe's. With --json one dispute a line.
            """
    )

    @Option(help: "Of this account only.")
    var account: String?

    @Flag(help: "Also those to which nothing more happens.")
    var closed = false

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let answer = try await client.read(
                "/v1/disputes",
                query: [("account", account), ("closed", closed ? "true" : nil)]
            )
            let disputes = answer.member("data")?.elements ?? []
            for unread in answer.member("unread")?.elements ?? [] {
                Terminal.printError(
                    "the disputes of account \(unread.text("account")) could not be read: "
                        + unread.text("reason")
                )
            }
            if server.json {
                for dispute in disputes { Terminal.printJSON("\(dispute)") }
                return
            }
            var table = Table(
                "DISPUTE",
                "ANSWER UNTIL",
                "STATUS",
                "AMOUNT",
                "REASON",
                "SOURCE",
                "ORDER",
                "CHARGE",
                "ACCOUNT",
                optional: ["ACCOUNT", "CHARGE", "REASON", "ORDER"]
            )
            table.rows = disputes.map(row)
            table.print()
            if disputes.isEmpty, Terminal.isErrorInteractive {
                Terminal.printError("there is no dispute")
            }
        }
    }

    private func row(_ dispute: RawJSON) -> [Table.Cell] {
        let needsResponse = dispute.member("needs_response")?.bool == true
        let amount = dispute.integer("amount")
        let currency = dispute.member("currency")?.string
        return [
            .init(dispute.text("id"), .strong),
            dispute.time("due_at")?.cell(.careful) ?? .init("-"),
            .init(dispute.text("status"), needsResponse ? .bad : nil),
            .init(amount.map { Sums.text($0, currency) } ?? "-"), .init(dispute.text("reason")),
            .init(dispute.text("source")), .init(dispute.text("order")),
            .init(dispute.text("charge")), .init(dispute.text("account")),
        ]
    }
}
