import ArgumentParser
import Poller
import PollerRedis
import ProgramOutput

/// `pollerd migrate`: upgrades a store to the format that the newest release writes (``StoreMigration``).
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
            _ = try await Migrate.report(flags) { try await $0.plan() }
        }
    }

    /// `pollerd migrate apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give the store the newest form; refused while an older program runs."
        )

        @OptionGroup var flags: Flags

        func run() async throws {
            guard try await Migrate.report(flags, { try await $0.apply() }) else {
                throw ConfigurationError("nothing was changed: older programs use the store")
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
            guard try await Migrate.report(flags, { try await $0.verify() }) else {
                throw ExitCode(1)
            }
        }
    }

    /// Opens the store of a configuration, prints the report of a command, and returns whether it is good.
    private static func report(
        _ flags: Flags,
        _ command: @Sendable (StoreMigration) async throws -> StoreMigration.Report
    ) async throws -> Bool {
        let report = try await Cluster.visit(flags, as: "migrate") { cluster, _, _ in
            try await command(
                StoreMigration(
                    client: cluster.client,
                    layout: cluster.layout,
                    members: cluster.members
                )
            )
        }
        for line in report.lines { StandardStreams.printLine(line) }
        return report.isGood
    }
}
