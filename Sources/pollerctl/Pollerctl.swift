package import ArgumentParser
import Foundation
import ProgramOutput

/// `pollerctl`: the operator's hand, over HTTP only.
package struct Pollerctl: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "pollerctl",
        abstract: "Watch payment sources and see what becomes of them.",
        discussion: """
            POLLER_URL names the server (default http://127.0.0.1:8080), POLLER_API_KEY one of \
            its keys. Tables and colour appear on a terminal only; NO_COLOR turns colour off, \
            --json prints what the server sent.

            Exit status: 0 success, 1 the request failed, 64 wrong usage, 69 server unreachable, \
            77 not allowed. wait: 2 closed otherwise, 3 timed out.

            Your shell completes commands and options with what pollerctl \
            --generate-completion-script bash prints (or zsh, fish).
            """,
        version: "1.0.0",
        subcommands: [
            Enqueue.self, Get.self, List.self, Follow.self, Wait.self, Poll.self, Cancel.self,
            Batch.self, EventsCommand.self, Listen.self, Explain.self, Late.self,
            ShowTimeline.self, Export.self, Import.self, OrderCommand.self,
            EndpointCommand.self, DeliveryCommand.self, MailCommand.self, KeyCommand.self,
            Audit.self,
            LaneCommand.self, AccountCommand.self, QuarantineCommand.self, WorkerCommand.self,
            ShowStats.self, Top.self,
            Doctor.self, IncidentCommand.self,
            SourceCommand.self, IntentCommand.self, DisputeCommand.self, StripeCommand.self,
            Reconcile.self,
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
            // Seen only once the command has begun: its usage is not what is wrong.
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

    /// What every command takes, and how many values each has.
    private static let globalOptions = ["--json": 0, "--url": 1, "--ca-file": 1]

    /// The arguments with what stands before the command behind it, where the command looks for it.
    private static func globalOptionsLast(_ arguments: [String]) -> [String] {
        var (moved, rest) = ([String](), arguments[...])
        while let first = rest.first, let count = globalOptions[first], rest.count > count {
            moved += rest.prefix(count + 1)
            rest = rest.dropFirst(count + 1)
        }
        return rest.isEmpty ? arguments : rest + moved
    }

    /// The rule for a value that the parser only calls invalid; nil for other mistakes.
    private static func valueRule(_ message: String) -> String? {
        let spans = ["timeout", "interval", "overlap", "expires", "notify-by", "since", "over"]
        let pairs = ["metadata", "header", "param"]
        guard let found = message.firstMatch(of: /The value '(.*)' is invalid for '--([a-z-]+) </)
        else { return nil }
        let option = String(found.2)
        if pairs.contains(option) { return "--\(option) must be NAME=VALUE, not \(found.1)" }
        guard spans.contains(option) else { return nil }
        let time = option == "since" ? ", or a time such as 2026-11-20T09:30:00Z" : ""
        return "--\(option) takes a span with its unit, such as 90s, 5m, 36h or 7d\(time); "
            + "not \(found.1)"
    }

    /// The words that name the command: `pollerctl endpoint add`.
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

    /// What to say of a command that is nearly one of ours, or of an id that is empty; nil when there
    /// is nothing to say.
    private static func advice(on arguments: [String]) -> String? {
        // The value of an option may well be empty.
        for (before, word) in zip([""] + arguments, arguments)
        where word.isEmpty && !before.hasPrefix("-") {
            return "an id must not be empty: is a variable of the shell not set?"
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
            // What stands behind events is a source, unless it is a command.
            guard command != EventsCommand.self else { return nil }
            return KnownValues.suggestion(for: word, among: known.map(name(of:))).map {
                "there is no command \(word); did you mean \(path) \($0)?"
            }
        }
        return nil
    }

    /// What a command is called: as it says itself, or after its type.
    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? "\(command)".lowercased()
    }
}
