import ArgumentParser
import PollerClient
import PollerWire

/// `pollerctl quarantine`: watches that a person must look at.
struct QuarantineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "Look at watches that could not be polled, and watch them again.",
        discussion: """
            A watch comes here when the upstream's answers could not be understood again and \
            again, or when five workers in a row vanished with it in hand. redrive watches it \
            again, dismiss takes it out for good.

            Stored entries that have ended several processes, such as events of the outbox, are set \
            aside, too: entries lists them, redrive-entry has them handled again, dismiss-entry drops \
            them.
            """,
        subcommands: [
            QuarantineList.self, QuarantineRedrive.self, QuarantineDismiss.self,
            QuarantineEntries.self, QuarantineRedriveEntry.self, QuarantineDismissEntry.self,
        ],
        defaultSubcommand: QuarantineList.self
    )
}

/// `pollerctl quarantine list`: what is there, and why.
struct QuarantineList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List quarantined watches with the reason, those closed first at the top.",
        discussion: "With --json one watch a line."
    )

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        let table = Table(
            "SOURCE",
            "ACCOUNT",
            "KIND",
            "POLLS",
            "WHY",
            optional: ["POLLS", "KIND", "ACCOUNT"]
        )
        try await server.perform { client in
            try await server.list(table, limit: limit, \.quarantineRow) { limit, cursor in
                try await client.quarantine(
                    account: names.account,
                    kind: names.kind,
                    limit: limit,
                    cursor: cursor
                )
            }
        }
    }
}

extension Watch {
    /// The watch as a row of the quarantine.
    fileprivate var quarantineRow: [Table.Cell] {
        [
            .init(source, .strong), .init(account), .init(kind.rawValue), .init("\(attempts)"),
            .init(lastError ?? "its polls took the worker down", .careful),
        ]
    }
}

/// `pollerctl quarantine redrive`: watch again.
struct QuarantineRedrive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Watch quarantined sources again, with the span they had at first.",
        discussion: """
            Repeating the command is safe. What fails is told and the others go on; then the exit \
            status is 1.
            """
    )

    @OptionGroup var targets: QuarantineTargets

    func run() async throws {
        try await targets.each { client, name in
            try await client.redrive(name)
                .show(change: "is watched again", json: targets.server.json)
        }
    }
}

/// `pollerctl quarantine dismiss`: out of it for good.
struct QuarantineDismiss: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Take sources out of quarantine for good; they stay closed, and warn nobody.",
        discussion: """
            For what is not worth another look; enqueued anew it is watched again. Repeating the \
            command is safe. What fails is told and the others go on; then the exit status is 1.
            """
    )

    @OptionGroup var targets: QuarantineTargets

    func run() async throws {
        try await targets.each { client, name in
            try await client.dismiss(name)
                .show(change: "is out of quarantine", json: targets.server.json)
        }
    }
}

/// Which of the quarantine are meant.
struct QuarantineTargets: ParsableArguments {
    /// Watches asked for at a time.
    private static let page = 500
    /// Watches changed at once with --all; more are left for the next call.
    private static let allMax = 100_000

    @Argument(help: "The ids.")
    var sources: [String] = []

    @Flag(help: "Everything that is in quarantine now; with --account or --kind only of those.")
    var all = false

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard sources.isEmpty == all else {
            throw ValidationError("name sources, or --all for everything in quarantine")
        }
        try names.check(sources)
    }

    /// Does the same to each of them.
    fileprivate func each(
        _ body: (PollerClient, WatchName) async throws -> Void
    ) async throws {
        try await server.perform { client in
            let targets = all ? try await everything(client) : sources.map(names.name)
            if all, targets.isEmpty, !server.json { Terminal.printLine("quarantine is empty") }
            try await server.each(targets) { name in try await body(client, name) }
        }
    }

    /// All names first: what goes back into quarantine meanwhile is not redriven for ever.
    private func everything(_ client: PollerClient) async throws -> [WatchName] {
        var names: [WatchName] = []
        var cursor: String?
        repeat {
            let page = try await client.quarantine(
                account: self.names.account,
                kind: self.names.kind,
                limit: Self.page,
                cursor: cursor
            )
            names += page.items.map { WatchName($0.source, account: $0.account, kind: $0.kind) }
            cursor = page.next
        } while cursor != nil && names.count < Self.allMax
        return names
    }
}

/// `pollerctl quarantine entries`: stored entries that are set aside.
struct QuarantineEntries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "entries",
        abstract: "List stored entries that have ended several processes, the oldest first.",
        discussion: """
            No reader handles them any more, so that all other entries continue. The log of the \
            processes that ended has the trap. With --json one entry a line.
            """
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let page = try await client.setAsideEntries()
            if server.json {
                for entry in page.items { Terminal.printJSON(entry.json) }
                return
            }
            var table = Table(
                "ID",
                "READER",
                "ABOUT",
                "ACCOUNT",
                "DEATHS",
                "SET ASIDE",
                optional: ["ACCOUNT", "DEATHS", "READER"]
            )
            table.rows = page.items.map(\.value.row)
            table.print()
            if page.items.isEmpty, Terminal.isErrorInteractive {
                Terminal.printError("no entry is set aside")
            }
        }
    }
}

extension SetAsideEntry {
    /// The entry as a row of a list.
    fileprivate var row: [Table.Cell] {
        [
            .init(id, .strong), .init(reader.rawValue), .init(about ?? "-"),
            .init(account ?? "-"), .init("\(deaths)", .bad), setAsideAt.cell(),
        ]
    }

    /// Prints that the entry left the quarantine.
    fileprivate static func show(_ entry: Received<SetAsideEntry>, _ change: String, json: Bool) {
        if json {
            Terminal.printJSON(entry.json)
        } else {
            Terminal.printLine("\(Terminal.clean(entry.value.id)) \(change)")
        }
    }
}

/// `pollerctl quarantine redrive-entry`: handle an entry again.
struct QuarantineRedriveEntry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive-entry",
        abstract: "Have entries handled again that were set aside.",
        discussion: """
            Do it once a release is running that handles them: an entry that still ends processes \
            ends some of them again before it is set aside.
            """
    )

    @Argument(help: "The ids, as entries lists them.")
    var ids: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await server.each(ids) { id in
                SetAsideEntry.show(
                    try await client.redriveEntry(id),
                    "is handled again",
                    json: server.json
                )
            }
        }
    }
}

/// `pollerctl quarantine dismiss-entry`: drop an entry.
struct QuarantineDismissEntry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss-entry",
        abstract: "Drop entries that were set aside.",
        discussion: """
            An event of the outbox stays in the timeline of its watch; recipients get it with the \
            next event of that watch.
            """
    )

    @Argument(help: "The ids, as entries lists them.")
    var ids: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await server.each(ids) { id in
                SetAsideEntry.show(
                    try await client.dismissEntry(id),
                    "is dropped",
                    json: server.json
                )
            }
        }
    }
}
