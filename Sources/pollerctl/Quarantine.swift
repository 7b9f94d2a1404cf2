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
struct QuarantineList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List quarantined watches with the reason, those closed first at the top.",
        discussion: "With --json one watch a line."
    )
    static let route = ListRoute<Watch>("/v1/quarantine")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func columns(_ client: PollerClient) -> [Column<Watch>] {
        [
            Column("SOURCE", .strong, \.source), Column("ACCOUNT", drop: 3, \.account),
            Column("KIND", drop: 2, \.kind), Column("POLLS", drop: 1, \.attempts),
            Column("WHY", .careful) { $0.lastError ?? "its polls took the worker down" },
        ]
    }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("account", names.account), ("kind", names.kind)]
    }
}

/// `pollerctl quarantine redrive`: watch again.
struct QuarantineRedrive: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Watch quarantined sources again, with the span they had at first.",
        discussion: """
            Repeating the command is safe. What fails is told and the others go on; then the exit \
            status is 1.
            """
    )

    @OptionGroup var targets: QuarantineTargets

    func change(_ id: WatchName, _ client: PollerClient) async throws -> (Received<Watch>, String) {
        (try await client.redrive(id), "is watched again")
    }
}

/// `pollerctl quarantine dismiss`: out of it for good.
struct QuarantineDismiss: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Take sources out of quarantine for good; they stay closed, and warn nobody.",
        discussion: """
            For what is not worth another look; enqueued anew it is watched again. Repeating the \
            command is safe. What fails is told and the others go on; then the exit status is 1.
            """
    )

    @OptionGroup var targets: QuarantineTargets

    func change(_ id: WatchName, _ client: PollerClient) async throws -> (Received<Watch>, String) {
        (try await client.dismiss(id), "is out of quarantine")
    }
}

/// Which of the quarantine are meant.
struct QuarantineTargets: Targets {
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

    /// All names first: what goes back into quarantine meanwhile is not redriven for ever.
    func ids(_ client: PollerClient) async throws -> [WatchName] {
        guard all else { return sources.map(names.name) }
        let found = try await client.everything(upTo: Self.allMax) { cursor in
            try await client.quarantine(
                account: names.account,
                kind: names.kind,
                limit: ServerOptions.pageMax,
                cursor: cursor
            )
        }
        if found.isEmpty, !server.json { Terminal.printLine("quarantine is empty") }
        return found.map { WatchName($0.source, account: $0.account, kind: $0.kind) }
    }
}

/// `pollerctl quarantine entries`: stored entries that are set aside.
struct QuarantineEntries: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "entries",
        abstract: "List stored entries that have ended several processes, the oldest first.",
        discussion: """
            No reader handles them any more, so that all other entries continue. The log of the \
            processes that ended has the trap. With --json one entry a line.
            """
    )
    static let route = ListRoute<SetAsideEntry>("/v1/quarantine/entries", pageMax: nil)

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no entry is set aside" }
}

extension SetAsideEntry: Listed, Titled {
    static var columns: [Column<SetAsideEntry>] {
        [
            Column("ID", .strong, \.id), Column("READER", drop: 3, \.reader),
            Column("ABOUT", \.about), Column("ACCOUNT", drop: 1, \.account),
            Column("DEATHS", .bad, drop: 2, \.deaths), Column("SET ASIDE", \.setAsideAt),
        ]
    }

    var title: String { id }
}

/// The entries that a command changes.
struct EntryTargets: Targets {
    @Argument(help: "The ids, as entries lists them.")
    var ids: [String]

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { ids }
}

/// `pollerctl quarantine redrive-entry`: handle an entry again.
struct QuarantineRedriveEntry: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive-entry",
        abstract: "Have entries handled again that were set aside.",
        discussion: """
            Do it once a release is running that handles them: an entry that still ends processes \
            ends some of them again before it is set aside.
            """
    )

    @OptionGroup var targets: EntryTargets

    func change(
        _ id: String,
        _ client: PollerClient
    ) async throws -> (Received<SetAsideEntry>, String) {
        (try await client.redriveEntry(id), "is handled again")
    }
}

/// `pollerctl quarantine dismiss-entry`: drop an entry.
struct QuarantineDismissEntry: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss-entry",
        abstract: "Drop entries that were set aside.",
        discussion: """
            An event of the outbox stays in the timeline of its watch; recipients get it with the \
            next event of that watch.
            """
    )

    @OptionGroup var targets: EntryTargets

    func change(
        _ id: String,
        _ client: PollerClient
    ) async throws -> (Received<SetAsideEntry>, String) {
        (try await client.dismissEntry(id), "is dropped")
    }
}
