import Foundation
import PollerClient

extension Delivery {
    /// The columns of ``row``.
    static var table: Table {
        Table("DELIVERY", "SOURCE", "ENDPOINT", "STATE", "SEQ", "ATTEMPTS", "DEAD", "NEXT", "ERROR")
    }

    /// The delivery as a row of a list.
    var row: [Table.Cell] {
        [
            .init(id, .strong), .init(source), .init(endpoint), .init(state, colour),
            .init("\(lastSeq)"), .init("\(attempts)"),
            .init(deadShown ?? "-", deadShown == nil ? nil : .bad),
            .init(nextAttemptAt?.shown ?? "-"), .init(lastError ?? "-"),
        ]
    }

    /// Prints the delivery: as JSON, or one fact a line.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        var table = Table("", "")
        func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
            guard let value else { return }
            table.rows.append([.init(name, .faint), .init(value, colour)])
        }
        add("delivery", id, .strong)
        add("source", source)
        add("account", account)
        add("endpoint", endpoint)
        add("url", url)
        add("state", state, colour)
        add("told up to seq", "\(lastSeq)")
        add("attempts", "\(attempts)" + (failures > 0 ? ", \(failures) of this event failed" : ""))
        add("given up", deadShown, .bad)
        add("sent again", list(retryingSeqs))
        add("failing since", failingSince?.shown, .careful)
        add("next attempt", nextAttemptAt?.shown)
        add("last error", lastError, .careful)
        if let circuit, circuit != "closed" { add("endpoint's circuit", circuit, .bad) }
        add("endpoint held until", heldUntil?.shown, .careful)
        table.printFacts()
    }

    private var deadShown: String? { list(deadSeqs) }

    private func list(_ seqs: [Int]) -> String? {
        seqs.isEmpty ? nil : "seq " + seqs.map(String.init).joined(separator: ",")
    }

    private var colour: Terminal.Colour? {
        switch state {
        case "done": .good
        case "dead": .bad
        case "failing": .careful
        default: nil
        }
    }
}

extension DeliveryAttempt {
    /// The columns of ``row``.
    static var table: Table {
        Table("AT", "SEQ", "TRY", "OUTCOME", "CLASS", "CODE", "MS", "ADDRESS", "REASON")
    }

    /// The attempt as a row of a list.
    var row: [Table.Cell] {
        let phases = [spans.resolve, spans.connect, spans.firstByte, spans.total]
        return [
            .init(at.shown), .init("\(seq)"), .init("\(number)"),
            .init(outcome, outcome == "delivered" ? .good : .bad), .init(kind),
            .init(code.map(String.init) ?? "-"),
            .init(phases.map { $0.map(String.init) ?? "-" }.joined(separator: "/")),
            .init(address ?? "-"), .init(reason ?? "-"),
        ]
    }
}

extension Replay {
    /// Prints the job: as JSON, or as a line.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        let what = isDryRun ? "would be sent again" : "are sent again"
        var line = "\(state): \(events) events of \(matched) deliveries \(what)"
        line += " (\(lookedAt) looked at"
        if busy > 0 { line += ", \(busy) busy and left as they are" }
        line += ")"
        if let error { line += ": \(Terminal.clean(error))" }
        Terminal.printLine(line)
    }
}
