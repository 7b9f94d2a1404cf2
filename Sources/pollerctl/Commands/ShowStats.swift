import ArgumentParser
import PollerClient

/// `pollerctl stats`: counts.
struct ShowStats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Count watches, deliveries, lanes and processes."
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let stats = try await client.stats()
            guard !server.json else { return try stats.showJSON() }
            var table = Table("", "WATCHES", "DELIVERIES")
            let rows: [(String, KeyPath<Stats.Counts, Int>)] = [
                ("pending", \.pending), ("overdue", \.overdue), ("leased", \.leased),
                ("closed", \.closed), ("lanes", \.lanes), ("outbox", \.outbox),
                ("undelivered", \.undelivered),
            ]
            table.rows = rows.map { name, path in
                [
                    .init(name, .faint), .init("\(stats.watches[keyPath: path])"),
                    .init("\(stats.deliveries[keyPath: path])"),
                ]
            }
            if !Terminal.isInteractive {
                table.rows.insert([.init("count"), .init("watches"), .init("deliveries")], at: 0)
            }
            table.print()
            let facts = Self.facts(stats)
            guard !facts.rows.isEmpty else { return }
            if Terminal.isInteractive { Terminal.printLine("") }
            facts.printFacts()
        }
    }
    /// What a server of today tells beyond the counts.
    private static func facts(_ stats: Stats) -> Table {
        var table = Table("", "")
        func add(_ name: String, _ value: Int?, _ colour: Terminal.Colour? = nil) {
            guard let value else { return }
            table.rows.append([.init(name, .faint), .init("\(value)", value > 0 ? colour : nil)])
        }
        if let lateMs = stats.oldestOverdueMs {
            let text = lateMs > 0 ? Duration.milliseconds(lateMs).shown : "nothing is overdue"
            table.rows.append([.init("oldest overdue", .faint), .init(text)])
        }
        add("workers", stats.workers)
        add("notifiers", stats.notifiers)
        add("quarantined", stats.quarantined, .careful)
        add("lanes paused", stats.lanes?.paused, .careful)
        add("lanes open", stats.lanes?.open, .bad)
        add("lanes probing", stats.lanes?.probing, .careful)
        add("lanes held", stats.lanes?.held, .careful)
        add("lanes slowed", stats.lanes?.slowed, .careful)
        return table
    }
}
