import ArgumentParser
import PollerClient
import PollerWire

struct QuarantineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "Show, redrive and dismiss watches that cannot be polled.",
        discussion: """
            A watch is quarantined if the upstream's responses repeatedly cannot be parsed, or if five \
            workers in a row were lost while polling it. redrive watches it again; dismiss removes it \
            permanently.

            Stored entries that crashed several processes, such as outbox events, are quarantined too. \
            entries lists them, redrive-entry processes them again, dismiss-entry drops them.
            """,
        example: "pollerctl quarantine list",
        subcommands: [
            QuarantineList.self, QuarantineRedrive.self, QuarantineDismiss.self,
            QuarantineEntries.self, QuarantineRedriveEntry.self, QuarantineDismissEntry.self,
        ],
        defaultSubcommand: QuarantineList.self
    )
}

struct QuarantineList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List quarantined watches with the reason, newest first.",
        discussion: "--json prints one watch per line. Example: pollerctl quarantine list"
    )
    static let route = ListRoute<Watch>("/v1/quarantine")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func columns(_ client: PollerClient) -> [Column<Watch>] {
        [
            Column("SOURCE", .strong, \.source), Column("ACCOUNT", drop: 3, \.account),
            Column("KIND", drop: 2, \.kind), Column("POLLS", drop: 1, \.attempts),
            Column("REASON", .careful) { $0.lastError ?? "its polls crashed workers" },
        ]
    }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("account", names.account), ("kind", names.kind)]
    }
}

struct QuarantineRedrive: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Watch quarantined sources again, with their original timeout.",
        discussion: "Repeating the command is safe. " + RefusedTargets.help(),
        example: "pollerctl quarantine redrive src_123"
    )

    @OptionGroup var targets: QuarantineTargets

    func change(_ id: WatchName, _ client: PollerClient) async throws -> (Received<Watch>, String) {
        (try await client.redrive(id), "is watched again")
    }
}

struct QuarantineDismiss: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Remove sources from quarantine permanently; they stay closed, without warnings.",
        discussion: """
            To watch a dismissed source again, enqueue it. Repeating the command is safe. \
            \(RefusedTargets.help())
            """,
        example: "pollerctl quarantine dismiss src_123"
    )

    @OptionGroup var targets: QuarantineTargets

    func change(_ id: WatchName, _ client: PollerClient) async throws -> (Received<Watch>, String) {
        (try await client.dismiss(id), "is out of quarantine")
    }
}

/// The quarantined sources that a command changes.
struct QuarantineTargets: Targets {
    @Argument(help: "The source ids.")
    var sources: [String] = []

    @Flag(help: "Everything in quarantine now; --account and --kind filter.")
    var all = false

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard sources.isEmpty == all else {
            throw ValidationError("give either sources or --all for everything in quarantine")
        }
        try names.check(sources)
    }

    /// Reads all names first, so that a watch that returns to quarantine is not redriven in a loop.
    func ids(_ client: PollerClient) async throws -> [WatchName] {
        guard all else { return sources.map(names.name) }
        let name = { (watch: Received<Watch>) in
            WatchName(watch.source, account: watch.account, kind: watch.kind)
        }
        let found = try await client.everything(keeping: name) { cursor in
            try await client.quarantine(
                account: names.account,
                kind: names.kind,
                limit: ServerOptions.pageMax,
                cursor: cursor
            )
        }
        if found.isEmpty, !server.json { Terminal.printLine("quarantine is empty") }
        return found
    }
}

struct QuarantineEntries: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "entries",
        abstract: "List stored entries that crashed several processes, oldest first.",
        discussion: """
            Readers skip these entries, so that all others continue. The logs of the crashed processes \
            show the cause. --json prints one entry per line.
            """,
        example: "pollerctl quarantine entries"
    )
    static let route = ListRoute<SetAsideEntry>("/v1/quarantine/entries", pageMax: nil)

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no entry is quarantined" }
}

extension SetAsideEntry: Listed, Titled {
    static var columns: [Column<SetAsideEntry>] {
        [
            Column("ID", .strong, \.id), Column("READER", drop: 3, \.reader),
            Column("ABOUT", \.about), Column("ACCOUNT", drop: 1, \.account),
            Column("CRASHES", .bad, drop: 2, \.deaths), Column("SINCE", \.setAsideAt),
        ]
    }

    var title: String { id }
}

/// The entries that a command changes.
struct EntryTargets: Targets {
    @Argument(help: "The entry ids from pollerctl quarantine entries.")
    var ids: [String]

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { ids }
}

struct QuarantineRedriveEntry: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive-entry",
        abstract: "Process quarantined entries again.",
        discussion: """
            Run it after deploying a release that can process them. An entry that still crashes \
            processes crashes several before it is quarantined again.
            """,
        example: "pollerctl quarantine redrive-entry ENTRY"
    )

    @OptionGroup var targets: EntryTargets

    func change(
        _ id: String,
        _ client: PollerClient
    ) async throws -> (Received<SetAsideEntry>, String) {
        (try await client.redriveEntry(id), "is processed again")
    }
}

struct QuarantineDismissEntry: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss-entry",
        abstract: "Drop quarantined entries.",
        discussion: """
            An outbox event stays in the timeline of its watch. Recipients receive it with the next \
            event of that watch.
            """,
        example: "pollerctl quarantine dismiss-entry ENTRY"
    )

    @OptionGroup var targets: EntryTargets

    func change(
        _ id: String,
        _ client: PollerClient
    ) async throws -> (Received<SetAsideEntry>, String) {
        (try await client.dismissEntry(id), "is dropped")
    }
}
