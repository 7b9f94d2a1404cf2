import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl late`: payments that are polled late, and why.
struct Late: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List payments that are polled later than they are due, and why.",
        discussion: """
            The longest late first. A payment whose polls fail is not late: pollerctl list error=any finds it. With \
            --json one payment a line.
            """
    )

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

    func run() async throws {
        try await server.perform { client in
            let answer = try await client.read(
                "/v1/late",
                query: [
                    ("over", over.map { "\($0)" }), ("account", account), ("limit", "\(limit)"),
                ]
            )
            let late = answer.member("data")?.elements ?? []
            if server.json {
                for one in late { Terminal.printJSON("\(one)") }
                return
            }
            var table = Table(
                "SOURCE",
                "LATE",
                "WHY",
                "PAYMENT",
                "ORDER",
                "LANE",
                "ACCOUNT",
                optional: ["ACCOUNT", "LANE", "ORDER", "PAYMENT"]
            )
            table.rows = late.map(row)
            table.print()
            guard Terminal.isErrorInteractive else { return }
            if late.isEmpty {
                Terminal.printError(
                    "no payment is late; pollerctl list error=any lists those whose polls fail"
                )
            }
            if answer.member("has_more")?.bool == true {
                Terminal.printError("there are more; see --limit")
            }
        }
    }

    private func row(_ late: RawJSON) -> [Table.Cell] {
        let ms = Int64(clamping: late.integer("late_ms") ?? 0)
        let reasons = (late.member("reasons")?.elements ?? []).compactMap(\.string)
        // A newer server may send states that are not known here.
        let payment = late.member("payment").flatMap { try? Payment(reading: $0) }
        return [
            .init(late.text("source"), .strong),
            .init(people: Duration.milliseconds(ms).shown, programs: "\(ms)", .careful),
            .init(reasons.isEmpty ? "-" : reasons.joined(separator: "; ")), Payment.cell(payment),
            .init(late.text("order")), .init(late.text("lane")), .init(late.text("account")),
        ]
    }
}
