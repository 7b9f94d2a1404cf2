package import ArgumentParser
import ChildPrograms
import Foundation
import PollerAPI
import PollerNet
import PollerOperations
import PollerWatches
import ProgramOutput

/// `pollerd`: every role of the cluster in one program.
package struct PollerdCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "pollerd",
        abstract: "Watch payments until they settle and notify their subscribers.",
        discussion: """
            Every option can be a flag (--redis-url URL), an environment variable
            (POLLER_REDIS_URL) or a key of a YAML file (redis_url, with --config FILE), in this
            order of precedence. `pollerd check-config` lists them all. Flags are visible in the process
            list, so each secret can be read from a file instead (--stripe-api-key-file PATH).
            """,
        version: Release.version,
        subcommands: [
            RunAll.self, RunAPI.self, RunWorker.self, RunNotifier.self, RunGateway.self,
            CheckConfig.self, Diff.self, KeyCommand.self, Rekey.self, Fsck.self, Reindex.self,
            Migrate.self, Repartition.self,
            Bench.self, Simulate.self,
        ]
    )

    package init() {}

    package static func main() async {
        StandardStreams.prepare(program: "pollerd")
        defer { LogOutput.standardError.flush() }
        let arguments = Flags.expand(Array(CommandLine.arguments.dropFirst()))
        OpenFiles.raiseLimit()
        do {
            var command = try parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let error as any Error & CustomStringConvertible
            where error is ConfigurationError || error is ProgramError || error is ListenError
            || error is SealError
        {
            LogOutput.standardError.flush()
            StandardStreams.writeError("pollerd: \(error)\n")
            Foundation.exit(78)  // EX_CONFIG of sysexits.h
        } catch {
            LogOutput.standardError.flush()
            end(with: error)
        }
    }
}

/// `pollerd all`: every role in one process.
struct RunAll: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "Run API, worker, notifier and gateway in one process."
    )

    @ArgumentParser.Flag(help: "Also run a redis-server, and a stripe-sandbox unless a key is set.")
    var embedded = false

    @ArgumentParser.Option(
        help: "Data folder of the embedded Redis. Default: a temporary folder."
    )
    var dataDir: String?

    @OptionGroup var flags: Flags

    func run() async throws {
        try await NodeProcess(
            roles: Set(Role.allCases),
            source: flags.source(),
            isEmbedded: embedded,
            dataFolder: dataDir
        ).run()
    }
}

struct RunAPI: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Serve the HTTP API."
    )

    @OptionGroup var flags: Flags

    func run() async throws {
        try await NodeProcess(roles: [.api], source: flags.source()).run()
    }
}

struct RunWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Poll sources."
    )

    @OptionGroup var flags: Flags

    func run() async throws {
        try await NodeProcess(roles: [.worker], source: flags.source()).run()
    }
}

struct RunNotifier: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifier",
        abstract: "Deliver events by webhook and mail, and serve the WebSocket gateway."
    )

    @OptionGroup var flags: Flags

    func run() async throws {
        try await NodeProcess(
            roles: [.notifier, .gateway],
            source: flags.source()
        ).run()
    }
}

/// `pollerd gateway`: for clusters with more gateways than notifiers, or notifiers without a gateway.
struct RunGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Serve only the WebSocket gateway, which is otherwise part of the notifier."
    )

    @OptionGroup var flags: Flags

    func run() async throws {
        try await NodeProcess(roles: [.gateway], source: flags.source()).run()
    }
}

/// `pollerd check-config`: prints the effective configuration and all its mistakes.
struct CheckConfig: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Print every option with its value and origin; exit 78 if one is invalid."
    )

    @ArgumentParser.Flag(
        help: "Describe each option, section of the file and policy instead."
    )
    var describe = false

    @OptionGroup var flags: Flags

    func run() async throws {
        guard !describe else {
            return StandardStreams.printLine(Option.reference.joined(separator: "\n\n"))
        }
        let configuration = try flags.configuration()
        StandardStreams.printLine(configuration.report)
        for warning in configuration.warnings + configuration.unreachableEndpoints {
            StandardStreams.writeError("pollerd: warning: \(warning)\n")
        }
        for name in configuration.unknown {
            StandardStreams.writeError("pollerd: unknown option \(name)\n")
        }
        let mistakes = configuration.mistakes
        for mistake in mistakes.dropLast() {
            StandardStreams.writeError("pollerd: \(mistake)\n")
        }
        if let last = mistakes.last { throw last }
        if !configuration.unknown.isEmpty {
            throw ConfigurationError("remove or correct the unknown options above")
        }
    }
}

extension NodeProcess {
    /// Creates a process that uses an external Redis.
    init(roles: Set<Role>, source: ConfigurationSource) {
        self.init(
            roles: roles,
            source: source,
            isEmbedded: false,
            dataFolder: nil
        )
    }
}
