import ArgumentParser
import Foundation
import Logging
import Poller
import PollerRedis
import ProgramOutput
import RedisClient

/// `pollerd migrate`: gives a store the form that the newest release writes.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Let a store have the newest form, once no older program uses it.",
        discussion: """
            Releases run side by side on the form that a store has. A newer form is written only after \
            somebody has said so, since older programs cannot read it:

              1. Upgrade every process, one after the other, as always.
              2. pollerd migrate plan says what will change, and who stands in the way.
              3. pollerd migrate apply does it. Older programs refuse the store from then on.
              4. Restart every process, one after the other: each writes the new form from its start.
              5. pollerd migrate verify says whether all do.

            What is stored already is read in either form and is not rewritten. There is no way back but \
            a backup from before.
            """,
        subcommands: [Plan.self, Apply.self, Verify.self],
        defaultSubcommand: Plan.self
    )

    /// `pollerd migrate plan`.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what would change; changes nothing."
        )

        @OptionGroup var flags: Flags

        func run() async throws {
            try await Migration.run(flags) { migration in
                StandardStreams.printLine(migration.state)
                guard migration.isNeeded else { return }
                for line in StoreVersion.changes(since: migration.layout.form) {
                    StandardStreams.printLine("  \(line)")
                }
                let older = try await migration.older()
                for member in older {
                    StandardStreams.printLine("older, to be upgraded first: \(member)")
                }
                let step = older.isEmpty ? "pollerd migrate apply" : "upgrade these, and ask again"
                StandardStreams.printLine("next: \(step)")
            }
        }
    }

    /// `pollerd migrate apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give the store the newest form; refused while an older program runs."
        )

        @OptionGroup var flags: Flags

        func run() async throws {
            try await Migration.run(flags) { migration in
                guard migration.isNeeded else { return StandardStreams.printLine(migration.state) }
                let older = try await migration.older()
                guard older.isEmpty else {
                    for member in older {
                        StandardStreams.printLine("older, to be upgraded first: \(member)")
                    }
                    throw ConfigurationError("nothing was changed: older programs use the store")
                }
                try await StoreVersion.raise(
                    migration.layout,
                    release: StoreVersion.release,
                    on: migration.client
                )
                StandardStreams.printLine(
                    "the store has form \(StoreVersion.current) from now on; restart every process, "
                        + "one after the other, then: pollerd migrate verify"
                )
            }
        }
    }

    /// `pollerd migrate verify`.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say whether every process writes the form of the store; exit 1 if not."
        )

        @OptionGroup var flags: Flags

        func run() async throws {
            try await Migration.run(flags) { migration in
                StandardStreams.printLine(migration.state)
                let behind = try await migration.behind()
                for member in behind {
                    StandardStreams.printLine("started before, to be restarted: \(member)")
                }
                guard !migration.isNeeded, behind.isEmpty else { throw ExitCode(1) }
                StandardStreams.printLine("every process writes it")
            }
        }
    }
}

/// A store whose form is looked at or raised.
private struct Migration {
    let client: RedisClient
    let layout: StoreLayout
    let members: any Membership

    /// Opens the store of a configuration for a while.
    static func run(
        _ flags: Flags,
        _ body: (Migration) async throws -> Void
    ) async throws {
        try await Cluster.visit(flags, as: "migrate") { cluster, _, _ in
            try await body(
                Migration(
                    client: cluster.client,
                    layout: cluster.layout,
                    members: cluster.members
                )
            )
        }
    }

    var isNeeded: Bool { layout.form < StoreVersion.current }

    var state: String {
        "the store has form \(layout.form)"
            + (isNeeded ? "; this program writes up to \(StoreVersion.current):" : ", the newest")
    }

    /// The live processes that cannot read the newest form.
    func older() async throws -> [String] {
        try await members.members()
            .filter { !StoreVersion.isReadable(by: $0.version) }
            .map { "\($0.roles) on \($0.host), process \($0.pid), version \($0.version)" }
    }

    /// The live processes that write an older form than the store has: they were started before.
    func behind() async throws -> [String] {
        try await members.members()
            .filter { ($0.form ?? 1) < layout.form }
            .map { "\($0.roles) on \($0.host), process \($0.pid)" }
    }
}
