import ArgumentParser
import PollerClient
import PollerWire
import SafeNumbers

struct Batch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Poll, cancel, redrive or dismiss all matches of a search.",
        discussion: """
            Takes the same query as pollerctl list. Without --yes it only counts the matches.

            Examples:

              pollerctl batch cancel account=shop 'created>7d'          count
              pollerctl batch cancel account=shop 'created>7d' --yes    cancel
            """,
        subcommands: [
            BatchPoll.self, BatchCancel.self, BatchRedrive.self, BatchDismiss.self,
        ]
    )
}

struct BatchPoll: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "poll",
        abstract: "Poll all open watches that match, now.",
        discussion: "Example: pollerctl batch poll error=any --yes"
    )

    static let outcome = "due now"

    @OptionGroup var batch: BatchOptions
}

struct BatchCancel: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Stop watching all sources that match.",
        discussion: "Example: pollerctl batch cancel account=shop 'created>7d' --yes"
    )

    static let outcome = "no longer watched"

    @OptionGroup var batch: BatchOptions
}

struct BatchRedrive: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Watch all matching sources in quarantine again.",
        discussion: "Example: pollerctl batch redrive account=shop --yes"
    )

    static let outcome = "watched again"

    @OptionGroup var batch: BatchOptions
}

struct BatchDismiss: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Remove all matching sources from quarantine permanently.",
        discussion: "Example: pollerctl batch dismiss account=shop --yes"
    )

    static let outcome = "out of quarantine"

    @OptionGroup var batch: BatchOptions
}

/// A command that applies one action, its own name, to all watches found by a search.
protocol BatchCommand: AsyncParsableCommand {
    /// The state of the watches after the action.
    static var outcome: String { get }
    var batch: BatchOptions { get }
}

extension BatchCommand {
    func run() async throws {
        try await batch.run(Self.configuration.commandName ?? "", Self.outcome)
    }
}

/// The query of a batch command and its confirmation.
struct BatchOptions: ParsableArguments {
    @Argument(help: "The query, as in pollerctl list.")
    var query: [String]

    @Flag(help: "Apply the action; without it, only count the matches.")
    var yes = false

    @Option(help: "Only this account.")
    var account: String?

    @OptionGroup var server: ServerOptions

    /// Counts the matches, or with `--yes` applies the action, page by page.
    fileprivate func run(_ action: String, _ outcome: String) async throws {
        let query = SearchQuery.text(of: query)
        try await server.perform { client in
            var (matched, done) = (0, 0)
            var cursor: String?
            repeat {
                let part = try await client.select(
                    action,
                    matching: query,
                    account: account,
                    isDryRun: !yes,
                    cursor: cursor
                )
                matched = matched.addingSaturating(part.matched)
                done = done.addingSaturating(part.done)
                cursor = part.next
            } while cursor != nil
            if server.json {
                Terminal.printLine(#"{"matched":\#(matched),"done":\#(done)}"#)
            } else if yes {
                Terminal.printLine("\(done) of \(matched) watches: \(outcome)")
            } else {
                Terminal.printLine("\(matched) watches would be \(outcome); add --yes to do it")
            }
        }
    }
}
