import ArgumentParser
import PollerClient

/// `pollerctl stats`: counts.
struct ShowStats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Count watches and deliveries."
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
            table.print()
        }
    }
}
