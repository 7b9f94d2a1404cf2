import ArgumentParser
import Foundation
import ProgramOutput

/// `pollerd diff FILE`: shows the changes if FILE became the configuration file of a process.
///
/// It is a command of `pollerd`, not `pollerctl`, because reading a configuration as a process does requires that
/// process's variables and secret files (<doc:0036-upstreams>).
struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what FILE would change in a process that runs with --config.",
        discussion: """
            Prints a line for each added (+), removed (-) and changed (~) setting, and says which need a
            restart. Secrets are never shown. The exit status is that of diff(1): 0 for no differences,
            1 for some, 2 if either configuration has errors, which are printed.
            """
    )

    @ArgumentParser.Argument(help: "The new configuration file.")
    var file: String

    @OptionGroup var flags: Flags

    func run() async throws {
        let source = try flags.source()
        let old = try Self.read(source)
        let new = try Self.read(source.replacing(file: file))
        for name in new.unknown { Self.printError("unknown option \(name)") }
        let changes = ConfigurationDifference(from: old, to: new).changes
        for change in changes { StandardStreams.printLine(change.line) }
        if !changes.isEmpty { throw ExitCode(1) }
    }

    /// Returns a configuration without mistakes, or prints the mistakes and ends the command.
    private static func read(_ source: ConfigurationSource) throws -> Configuration {
        let mistakes: [ConfigurationError]
        switch source.read().configuration {
        case .success(let configuration):
            mistakes = configuration.mistakes
            if mistakes.isEmpty { return configuration }
        case .failure(let mistake): mistakes = [mistake]
        }
        for mistake in mistakes {
            printError((mistake.line.map { "line \($0): " } ?? "") + mistake.description)
        }
        throw ExitCode(2)
    }

    private static func printError(_ words: String) {
        StandardStreams.writeError("pollerd: \(words)\n")
    }
}
