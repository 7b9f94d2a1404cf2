import Foundation
import PollerClient

extension Watch {
    /// Prints the watch: as JSON, or one fact a line.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        var table = Table("", "")
        func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
            guard let value else { return }
            table.rows.append([.init(name, .faint), .init(value, colour)])
        }
        add("source", source, .strong)
        add("account", account)
        add("kind", kind)
        add("state", isOpen ? "open" : "closed (\(closedReason ?? "?"))")
        add("status", status ?? "not seen yet", Self.colour(status, isFinal: isFinal))
        add("final", isFinal ? "yes" : "no")
        add("seq", "\(seq), run \(run)")
        add("until", until)
        add("polls", "\(attempts), policy \(policy)")
        add("created", created)
        add("deadline", deadline)
        add("next poll", nextPoll)
        add("last poll", lastPoll)
        add("last error", lastError, .careful)
        for url in notify { add("notify", url) }
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            add("metadata", "\(name)=\(value)")
        }
        table.printFacts()
    }

    /// The watch as a row of a list.
    var row: [Table.Cell] {
        [
            .init(source, .strong), .init(isOpen ? "open" : closedReason ?? "closed"),
            .init(status ?? "-", Self.colour(status, isFinal: isFinal)), .init("\(seq)"),
            .init("\(attempts)"), .init(nextPoll ?? "-"),
        ]
    }

    private var created: String { createdAt.shown }
    private var deadline: String { deadlineAt.shown }
    private var nextPoll: String? { nextPollAt?.shown }
    private var lastPoll: String? { lastPolledAt?.shown }

    /// What a status means for money, at a glance.
    static func colour(_ status: String?, isFinal: Bool) -> Terminal.Colour? {
        switch status {
        case "chargeable", "consumed", "succeeded", "requires_capture": .good
        case "failed", "canceled": .bad
        case nil: .faint
        default: isFinal ? .strong : nil
        }
    }
}

extension Date {
    /// The time as the API writes it.
    var shown: String {
        formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
