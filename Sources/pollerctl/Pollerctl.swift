import ArgumentParser
import Foundation

/// `pollerctl`: the operator's hand, over HTTP only.
@main
struct Pollerctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
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
        version: "0.3.0",
        subcommands: [
            Enqueue.self, Get.self, List.self, Follow.self, Wait.self, Poll.self, Cancel.self,
            Batch.self, EventsCommand.self, Listen.self, Explain.self,
            ShowTimeline.self, OrderCommand.self,
            EndpointCommand.self, DeliveryCommand.self, MailCommand.self, KeyCommand.self,
            Audit.self,
            LaneCommand.self, AccountCommand.self, QuarantineCommand.self, WorkerCommand.self,
            ShowStats.self, Top.self,
            Doctor.self, IncidentCommand.self,
            SourceCommand.self, IntentCommand.self, SetupCommand.self,
            RefundCommand.self, DisputeCommand.self, StripeCommand.self, Reconcile.self,
        ]
    )

    static func main() async {
        if let advice = advice(on: Array(CommandLine.arguments.dropFirst())) {
            Terminal.printError(advice)
            Foundation.exit(64)
        }
        await main(nil)
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
            return KnownWords.suggestion(for: word, among: known.map(name(of:))).map {
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
