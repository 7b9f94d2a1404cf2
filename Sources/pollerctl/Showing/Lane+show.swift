import Foundation
import PollerClient

extension Lane {
    /// The columns of ``row``.
    static var table: Table {
        Table("LANE", "STATE", "OVERDUE", "OLDEST", "WAITING", "IN FLIGHT", "LIMIT")
    }

    /// The lane as a row of a list.
    var row: [Table.Cell] {
        [
            .init(id, .strong), .init(stateShown, colour), .init("\(overdue)"),
            .init(overdue > 0 ? overdueFor.shown : "-"), .init("\(waiting)"),
            .init("\(inFlight)"), .init(limit.shown, limit.isDefault ? .faint : nil),
        ]
    }

    /// Prints the lane: as JSON, or one fact a line.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        var table = Table("", "")
        func add(_ name: String, _ value: String, _ colour: Terminal.Colour? = nil) {
            table.rows.append([.init(name, .faint), .init(value, colour)])
        }
        add("lane", id, .strong)
        add("state", stateShown, colour)
        add("overdue", overdue > 0 ? "\(overdue), the oldest for \(overdueFor.shown)" : "0")
        add("waiting", "\(waiting)")
        add("in flight", "\(inFlight)")
        add("limit", limit.shown + (limit.isDefault ? " (default)" : " (its own)"))
        if failures > 0 { add("failures", "\(failures) in a row", .careful) }
        table.printFacts()
    }

    /// Prints what became of a change: as JSON, or as a line.
    func show(change: String, json isJSON: Bool) {
        Terminal.printLine(isJSON ? json : "\(Terminal.clean(id)) \(change)")
    }

    private var stateShown: String {
        var text = state
        if let heldUntil { text += " until \(heldUntil.shown)" }
        if factor < 1 { text += " at \(Int(factor * 100)) %" }
        return text
    }

    private var colour: Terminal.Colour? {
        switch state {
        case "flowing": .good
        case "open": .bad
        default: .careful
        }
    }
}

extension Lane.Limit {
    /// The limit for people: `20/s + 5, 20 at once`.
    var shown: String {
        let rateShown = rate == rate.rounded() ? "\(Int(rate))" : "\(rate)"
        return (rate == 0 ? "no rate" : "\(rateShown)/s + \(burst)") + ", \(concurrency) at once"
    }
}
