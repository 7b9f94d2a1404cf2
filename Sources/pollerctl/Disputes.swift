import ArgumentParser
import JSONText
import PollerClient
import PollerWire

import struct PollerClient.Page

/// `pollerctl dispute`: customers and banks that want their money back.
struct DisputeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dispute",
        abstract: "See which disputes have to be answered, until when.",
        discussion: """
            Evidence is sent in Stripe's Dashboard, or by its own command: stripe disputes update dp_… \
            -d 'evidence[uncategorized_text]=…' -d submit=true.
            """,
        subcommands: [DisputesDue.self]
    )
}

/// `pollerctl dispute due`: the disputes that can be answered, with their deadlines.
struct DisputesDue: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "due",
        abstract: "List disputes of all accounts with their deadlines, the nearest first.",
        discussion: """
            Asks the cluster, which reads them from Stripe once a minute at most: it needs POLLER_URL and no key of \
            Stripe's. With --json one dispute a line.
            """
    )
    static let route = ListRoute<Dispute>("/v1/disputes", pageMax: nil)

    @Option(help: "Of this account only.")
    var account: String?

    @Flag(help: "Also those to which nothing more happens.")
    var closed = false

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "there is no dispute" }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("account", account), ("closed", closed ? "true" : nil)]
    }

    func remark(on page: Page<Dispute>) {
        let answer = try? DisputeList(reading: RawJSON(unchecked: page.json))
        for unread in answer?.unread ?? [] {
            Terminal.printError(
                "the disputes of account \(unread.account) could not be read: \(unread.reason)"
            )
        }
    }
}

extension Dispute: Listed {
    static var columns: [Column<Dispute>] {
        [
            Column("DISPUTE", .strong, \.id), Column("ANSWER UNTIL", .careful, \.dueAt),
            Column("STATUS") { Table.Cell($0.status, $0.needsResponse ? .bad : nil) },
            Column("AMOUNT") { dispute in dispute.amount.map { Sums.text($0, dispute.currency) } },
            Column("REASON", drop: 3, \.reason), Column("SOURCE", \.source),
            Column("ORDER", drop: 4, \.order), Column("CHARGE", drop: 2, \.charge),
            Column("ACCOUNT", drop: 1, \.account),
        ]
    }
}
