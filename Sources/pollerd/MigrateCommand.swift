import ArgumentParser
import PollerRedis
import ProgramOutput

/// `pollerd migrate`: upgrades a store to the format that the newest release writes (``StoreMigration``).
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Upgrade the store to the newest format, once no older program uses it.",
        discussion: """
            Releases run side by side on the current format of the store. A newer format is written only \
            after an operator has applied it, because older programs cannot read it:

              1. Upgrade all processes, one after the other, as always.
              2. Run pollerd migrate plan: it lists the changes and the processes that prevent them.
              3. Run pollerd migrate apply. From then on older programs refuse the store.
              4. Restart all processes, one after the other. Each then writes the new format.
              5. Run pollerd migrate verify to check that all processes write it.

            Existing data is read in either format and is not rewritten. The only way back is a backup \
            made before the upgrade.
            """,
        subcommands: [Plan.self, Apply.self, Verify.self],
        defaultSubcommand: Plan.self
    )

    /// `pollerd migrate plan`.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what would change, without changing anything."
        )

        @OptionGroup var flags: Flags

        func run() async throws {
            _ = try await Migrate.report(flags) { try await $0.plan() }
        }
    }

    /// `pollerd migrate apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Upgrade the store to the newest format; refused while an older program runs."
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
            abstract: "Check that every process writes the store's format; exit 1 if not."
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
        let report = try await Cluster.withStore(flags, as: "migrate") { cluster, _, _ in
            try await command(
                StoreMigration(
                    client: cluster.client,
                    layout: cluster.layout,
                    members: cluster.members
                )
            )
        }
        for line in report.lines { StandardStreams.printLine(line) }
        return report.isSuccessful
    }
}
