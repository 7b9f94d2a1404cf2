import Foundation
import PollerClient

extension WatchExplanation {
    /// Prints the explanation: as JSON, or one fact a line.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        var table = Table("", "")
        func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
            guard let value else { return }
            table.rows.append([.init(name, .faint), .init(value, colour)])
        }
        add("source", source, .strong)
        add("account", account)
        add("place", place)
        add("due", dueAt?.shown)
        add("ahead of it", ahead.map { "\($0)" })
        add("in the hands of", owner)
        add("earliest poll", earliestPollAt?.shown)
        if crashes > 0 { add("crashes", "\(crashes) workers in a row", .careful) }
        for reason in reasons { add("because", reason) }
        table.printFacts()
    }
}
