package import ArgumentParser
import Foundation
import ProgramOutput

/// The operator's command-line client, which talks to pollerd only over HTTP.
package struct Pollerctl: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "pollerctl",
        abstract: "Watch payment sources and follow their status.",
        discussion: """
            Set POLLER_URL to the server (default http://127.0.0.1:8080) and POLLER_API_KEY to an \
            API key. Tables and colour appear only on a terminal. NO_COLOR turns colour off; \
            --json prints the server's JSON.

            Exit status: 0 success, 1 the request failed, 64 wrong usage, 69 server unreachable, \
            77 not allowed. wait: 2 closed otherwise, 3 timed out.

            For shell completion in bash (or zsh, fish), load the output of:

              pollerctl --generate-completion-script bash

            Example:

              pollerctl enqueue src_123 --follow
            """,
        version: "1.0.0",
        groupedSubcommands: [
            CommandGroup(
                name: "Watch",
                subcommands: [
                    Enqueue.self, Get.self, List.self, Follow.self, Wait.self, Poll.self,
                    Cancel.self, Batch.self, EventsCommand.self, ShowTimeline.self, Explain.self,
                    Late.self, OrderCommand.self, Export.self, Import.self,
                ]
            ),
            CommandGroup(
                name: "Deliver",
                subcommands: [
                    EndpointCommand.self, DeliveryCommand.self, MailCommand.self, Listen.self,
                ]
            ),
            CommandGroup(
                name: "Operate",
                subcommands: [
                    Doctor.self, IncidentCommand.self, ShowStats.self, Top.self,
                    WorkerCommand.self, LaneCommand.self, AccountCommand.self,
                    QuarantineCommand.self,
                ]
            ),
            CommandGroup(
                name: "Stripe",
                subcommands: [
                    SourceCommand.self, IntentCommand.self, DisputeCommand.self,
                    StripeCommand.self, Reconcile.self,
                ]
            ),
            CommandGroup(name: "Access", subcommands: [KeyCommand.self, Audit.self]),
        ]
    )

    package init() {}

    package static func main() async {
        StandardStreams.prepare(program: "pollerctl")
        let arguments = Self.globalOptionsLast(Array(CommandLine.arguments.dropFirst()))
        if let advice = advice(on: arguments) {
            Terminal.printError(advice)
            Foundation.exit(64)
        }
        do {
            var command = try parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let mistake as ValidationError {
            // The arguments were parsed, so the message is enough; the usage line would not help.
            let help = "See '\(path(of: arguments)) --help'."
            Terminal.printError("\(mistake.message)\n\(help)")
            Foundation.exit(64)
        } catch {
            if let rule = valueRule(fullMessage(for: error)) {
                Terminal.printError("\(rule)\nSee '\(path(of: arguments)) --help'.")
                Foundation.exit(64)
            }
            end(with: error)
        }
    }

    /// The options of every command, with the number of their values.
    private static let globalOptions = ["--json": 0, "--url": 1, "--ca-file": 1]

    /// Moves global options from before the command to after it, where the parser expects them.
    private static func globalOptionsLast(_ arguments: [String]) -> [String] {
        var (moved, rest) = ([String](), arguments[...])
        while let first = rest.first, let count = globalOptions[first], rest.count > count {
            moved += rest.prefix(count + 1)
            rest = rest.dropFirst(count + 1)
        }
        return rest.isEmpty ? arguments : rest + moved
    }

    /// The rule that an invalid value breaks; `nil` for other mistakes.
    ///
    /// The parser's own message says only that the value is invalid.
    private static func valueRule(_ message: String) -> String? {
        let spans = ["timeout", "interval", "overlap", "expires", "notify-by", "since", "over"]
        let pairs = ["metadata", "header", "param"]
        guard let found = message.firstMatch(of: /The value '(.*)' is invalid for '--([a-z-]+) </)
        else { return nil }
        let option = String(found.2)
        if pairs.contains(option) { return "--\(option) must be NAME=VALUE, not \(found.1)" }
        guard spans.contains(option) else { return nil }
        let time = option == "since" ? ", or a time such as 2026-11-20T09:30:00Z" : ""
        return "--\(option) takes a duration with a unit, such as 90s, 5m, 36h or 7d\(time); "
            + "not \(found.1)"
    }

    /// The full name of the command: `pollerctl endpoint add`.
    private static func path(of arguments: [String]) -> String {
        var command: any ParsableCommand.Type = Self.self
        var path = "pollerctl"
        for word in arguments {
            let known = command.configuration.subcommands
            guard let next = known.first(where: { name(of: $0) == word }) else { break }
            command = next
            path += " \(word)"
        }
        return path
    }

    /// The message for a misspelled command or an empty ID; `nil` if the arguments have neither.
    private static func advice(on arguments: [String]) -> String? {
        // An option may have an empty value.
        for (before, word) in zip([""] + arguments, arguments)
        where word.isEmpty && !before.hasPrefix("-") {
            return "an id must not be empty. Check that the shell variable is set."
        }
        var command: any ParsableCommand.Type = Self.self
        var path = "pollerctl"
        for word in arguments {
            let known = command.configuration.subcommands
            guard !known.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            if let next = known.first(where: { name(of: $0) == word }) {
                command = next
                path += " \(word)"
                continue
            }
            // `events` takes a source in place of a subcommand.
            guard command != EventsCommand.self else { return nil }
            return KnownValues.suggestion(for: word, among: known.map(name(of:))).map {
                "unknown command \(word); did you mean \(path) \($0)?"
            }
        }
        return nil
    }

    /// The command's configured name, or its type in lower case.
    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? "\(command)".lowercased()
    }
}
