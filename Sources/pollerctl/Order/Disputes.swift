import ArgumentParser
import JSONText
import PollerClient
import PollerWire

import struct PollerClient.Page

struct DisputeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dispute",
        abstract: "Show disputes that need a response, and their deadlines.",
        discussion: """
            Submit evidence in the Stripe Dashboard or with the Stripe CLI: stripe disputes update \
            dp_… -d 'evidence[uncategorized_text]=…' -d submit=true.
            """,
        example: "pollerctl dispute due",
        subcommands: [DisputesDue.self]
    )
}

struct DisputesDue: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "due",
        abstract: "List disputes of all accounts, nearest deadline first.",
        discussion: """
            The cluster reads disputes from Stripe at most once a minute, so the command needs \
            POLLER_URL but no Stripe key. --json prints one dispute per line.
            """,
        example: "pollerctl dispute due --account shop"
    )
    static let route = ListRoute<Dispute>("/v1/disputes", pageMax: nil)

    @Option(help: "Only this account.")
    var account: String?

    @Flag(help: "Include closed disputes.")
    var closed = false

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no disputes" }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("account", account), ("closed", closed ? "true" : nil)]
    }

    func printNotes(on page: Page<Dispute>) {
        let answer = try? DisputeList(reading: RawJSON(unchecked: page.json))
        for unread in answer?.unread ?? [] {
            Terminal.printError(
                "disputes of account \(unread.account) could not be read: \(unread.reason)"
            )
        }
    }
}

extension Dispute: Listed {
    static var columns: [Column<Dispute>] {
        [
            Column("DISPUTE", .strong, \.id), Column("DUE", .careful, \.dueAt),
            Column("STATUS") { Table.Cell($0.status, $0.needsResponse ? .bad : nil) },
            Column("AMOUNT") { dispute in dispute.amount.map { Sums.text($0, dispute.currency) } },
            Column("REASON", drop: 3, \.reason), Column("SOURCE", \.source),
            Column("ORDER", drop: 4, \.order), Column("CHARGE", drop: 2, \.charge),
            Column("ACCOUNT", drop: 1, \.account),
        ]
    }
}
