import ArgumentParser
import JSONText
import PollerClient
import PollerWire

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the server's dependencies and suggest fixes.",
        discussion: """
            Lists failed checks first, then warnings. Exit status: 0 no check failed, 1 some failed, \
            69 the server is unreachable.
            """,
        example: "pollerctl doctor --json"
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let report = try await client.health()
            if server.json {
                Terminal.printJSON(RawJSON(unchecked: report.json).inOrder)
            } else {
                let server = Finding(
                    name: "server",
                    status: "ok",
                    message: "answers at \(client.url)"
                )
                let checks = report.checks.map { check in
                    Finding(
                        name: check.name,
                        status: check.status.rawValue,
                        message: check.message,
                        action: check.action
                    )
                }
                Self.show([server] + checks)
            }
            guard report.healthy else { throw ExitCode(1) }
        }
    }

    /// The result of one check.
    struct Finding: Encodable {
        let name: String
        /// `ok`, `warning` or `failed`; a newer server may have others.
        let status: String
        let message: String
        /// The advice; `nil` if there is nothing to do.
        var action: String?

        fileprivate var colour: Terminal.Colour {
            switch status {
            case "ok": .good
            case "warning": .careful
            default: .bad
            }
        }

        /// Its rank among findings, the worst first.
        fileprivate var rank: Int {
            switch status {
            case "ok": 2
            case "warning": 1
            default: 0
            }
        }
    }

    /// The columns before the message.
    private static let indent = 9

    /// Prints findings: failures, then warnings, then passed checks.
    static func show(_ findings: [Finding]) {
        // The sort is stable, so the order within each status stays.
        for finding in findings.sorted(by: { $0.rank < $1.rank }) { show(finding) }
    }

    /// Prints a finding with its advice on the next line.
    private static func show(_ finding: Finding) {
        let word = Terminal.clean(finding.status)
        let gap = String(repeating: " ", count: max(1, indent - word.count))
        let room = Terminal.width.map { $0 - indent }
        let space = String(repeating: " ", count: indent)
        let text = Terminal.clean("\(finding.name): \(finding.message)")
        let lines = Terminal.wrapped(text, within: room)
        for (index, line) in lines.enumerated() {
            let begin = index == 0 ? Terminal.coloured(word, finding.colour) + gap : space
            Terminal.printLine(begin + line)
        }
        guard let action = finding.action else { return }
        let todo = Terminal.wrapped(Terminal.clean(action), within: room.map { $0 - 2 })
        for (index, line) in todo.enumerated() {
            Terminal.printLine(space + (index == 0 ? "→ " : "  ") + line)
        }
    }
}

struct ShowStats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Count watches, deliveries, lanes and processes.",
        discussion: "Example: pollerctl stats --json"
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let stats = try await client.stats()
            guard !server.json else {
                return Terminal.printJSON(RawJSON(unchecked: stats.json).inOrder)
            }
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
            facts.print()
        }
    }

    /// Values that servers of the first release did not report.
    private static func facts(_ stats: Stats) -> Facts {
        var facts = Facts()
        func add(_ name: String, _ value: Int?, _ colour: Terminal.Colour? = nil) {
            guard let value else { return }
            facts.add(name, "\(value)", value > 0 ? colour : nil)
        }
        if let lateMs = stats.oldestOverdueMs {
            let text = lateMs > 0 ? Duration.milliseconds(lateMs).shown : "nothing is overdue"
            facts.add("oldest overdue", text)
        }
        add("workers", stats.workers)
        add("workers wanted", stats.workersWanted)
        add("notifiers", stats.notifiers)
        add("quarantined", stats.quarantined, .careful)
        add("deliveries dead", stats.dead, .bad)
        add("endpoints down", stats.endpointsDown, .careful)
        add("lanes paused", stats.lanes?.paused, .careful)
        add("lanes open", stats.lanes?.open, .bad)
        add("lanes probing", stats.lanes?.probing, .careful)
        add("lanes held", stats.lanes?.held, .careful)
        add("lanes slowed", stats.lanes?.slowed, .careful)
        return facts
    }
}

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show when a source is polled next, and why.",
        discussion: "Example: pollerctl explain src_123"
    )

    @Argument(help: "The source id.")
    var source: String

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws { try names.check([source]) }

    func run() async throws {
        try await server.perform { client in
            let name = names.name(source)
            try await client.suggestingOrder(for: name) { try await client.explain(name) }.show(
                json: server.json
            )
        }
    }
}

extension WatchExplanation: Shown {
    var title: String { source }

    var facts: Facts {
        var facts = Facts()
        facts.add("source", source, .strong)
        facts.add("account", account)
        facts.add("place", place.rawValue)
        facts.add("due", at: dueAt)
        facts.add("ahead in queue", ahead.map { "\($0)" })
        facts.add("leased by", owner)
        facts.add("earliest poll", at: earliestPollAt)
        if crashes > 0 { facts.add("crashes", "\(crashes) workers in a row", .careful) }
        for reason in reasons { facts.add("reason", reason) }
        return facts
    }
}

struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Show the processes of the cluster.",
        discussion: "Example: pollerctl worker list",
        subcommands: [WorkerList.self, WorkerDeparted.self],
        defaultSubcommand: WorkerList.self
    )
}

struct WorkerList: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List running processes with the work they hold.",
        discussion: "--json prints one process per line. Example: pollerctl worker list"
    )
    static let route = ListRoute<Worker>("/v1/workers", pageMax: nil)

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no process is running\nStart one with pollerd worker." }
}

struct WorkerDeparted: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "departed",
        abstract: "List processes that shut down or were lost in the last 24 hours.",
        discussion:
            "Newest first. --json prints one process per line. Example: pollerctl worker departed"
    )
    static let route = ListRoute<DepartedWorker>("/v1/workers/departed", pageMax: nil)

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no process has ended in the last 24 hours" }
}

extension DepartedWorker: Listed {
    static var columns: [Column<DepartedWorker>] {
        [
            Column("OUTCOME") { $0.how.cell($0.how.known == .lost ? .bad : .good) },
            Column("LEFT", \.departedAt), Column("HOST", .strong, \.process.host),
            Column("PID", drop: 4, \.process.pid),
            Column("ROLES") { $0.process.roles.joined(separator: ",") },
            Column("UP SINCE", drop: 3, \.process.startedAt),
            Column("VERSION", drop: 2, \.process.version),
            Column("ID", .faint, drop: 1, \.process.id),
        ]
    }
}

extension Worker: Listed {
    static var columns: [Column<Worker>] {
        [
            Column("HOST", .strong, \.host), Column("PID", drop: 4, \.pid),
            Column("ROLES") { $0.roles.joined(separator: ",") }, Column("IN FLIGHT", \.inFlight),
            Column("UP SINCE", drop: 3, \.startedAt), Column("VERSION", drop: 2, \.version),
            Column("ID", .faint, drop: 1, \.id),
        ]
    }
}
