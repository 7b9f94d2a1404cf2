import ArgumentParser
import PollerClient
import PollerWire

struct Late: ListCommand {
    static let configuration = CommandConfiguration(
        abstract: "List overdue payments, and why they are late.",
        discussion: """
            Longest overdue first. A payment with failing polls is not late; find it with pollerctl list \
            error=any. --json prints one payment per line.
            """,
        example: "pollerctl late --over 1m"
    )
    static let route = ListRoute<LateWatch>("/v1/late", pageMax: 100)

    @Option(help: "Minimum delay (default: 3 s longer than POLLER_LEASE, so 15s if it is not set).")
    var over: Span?

    @Option(help: "Only this account.")
    var account: String?

    @Option(help: "Maximum number of payments, 1 to 100.")
    var limit = 50

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (1...100).contains(limit) else { throw ValidationError("--limit must be 1 to 100") }
    }

    var whenEmpty: String {
        "no payment is late; list payments with failing polls with pollerctl list error=any"
    }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("over", over.map { "\($0)" }), ("account", account)]
    }
}

extension LateWatch: Listed {
    static var columns: [Column<LateWatch>] {
        [
            Column("SOURCE", .strong, \.source),
            Column("LATE") { late in
                let shown = Duration.milliseconds(late.lateMs).shown
                return Table.Cell(people: shown, programs: "\(late.lateMs)", .careful)
            },
            Column("REASON") { $0.reasons.isEmpty ? nil : $0.reasons.joined(separator: "; ") },
            Column("PAYMENT", drop: 4) { Payment.cell($0.payment) },
            Column("ORDER", drop: 3, \.order), Column("LANE", drop: 2, \.lane),
            Column("ACCOUNT", drop: 1, \.account),
        ]
    }
}
