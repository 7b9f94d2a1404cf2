import ArgumentParser
import PollerClient
import PollerWire

/// `pollerctl late`: payments that are polled late, and why.
struct Late: ListCommand {
    static let configuration = CommandConfiguration(
        abstract: "List payments that are polled later than they are due, and why.",
        discussion: """
            The longest late first. A payment whose polls fail is not late: pollerctl list error=any finds it. With \
            --json one payment a line.
            """
    )
    static let route = ListRoute<LateWatch>("/v1/late", pageMax: 100)

    @Option(help: "Only those that are at least so late; 15s when absent.")
    var over: Span?

    @Option(help: "Of this account only.")
    var account: String?

    @Option(help: "At most so many, 1 to 100.")
    var limit = 50

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (1...100).contains(limit) else { throw ValidationError("--limit is 1 to 100") }
    }

    var whenEmpty: String {
        "no payment is late; pollerctl list error=any lists payments with failing polls"
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
            Column("WHY") { $0.reasons.isEmpty ? nil : $0.reasons.joined(separator: "; ") },
            Column("PAYMENT", drop: 4) { Payment.cell($0.payment) },
            Column("ORDER", drop: 3, \.order), Column("LANE", drop: 2, \.lane),
            Column("ACCOUNT", drop: 1, \.account),
        ]
    }
}
