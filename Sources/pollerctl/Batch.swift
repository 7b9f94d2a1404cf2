import ArgumentParser
import PollerClient
import PollerWire
import SafeNumbers

/// `pollerctl batch`: the same for all that a search finds.
struct Batch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Poll, cancel, redrive or dismiss all watches that a search finds.",
        discussion: """
            pollerctl batch cancel account=shop 'created>7d'          how many that would be
            pollerctl batch cancel account=shop 'created>7d' --yes    does it

            The words are those of pollerctl list. Without --yes they are counted, and nothing is done.
            """,
        subcommands: [
            BatchPoll.self, BatchCancel.self, BatchRedrive.self, BatchDismiss.self,
        ]
    )
}

/// `pollerctl batch poll`: look at all now.
struct BatchPoll: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "poll",
        abstract: "Look now at all open watches that a search finds."
    )

    static let outcome = "due now"

    @OptionGroup var batch: BatchOptions
}

/// `pollerctl batch cancel`: stop watching all.
struct BatchCancel: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Stop watching all that a search finds."
    )

    static let outcome = "no longer watched"

    @OptionGroup var batch: BatchOptions
}

/// `pollerctl batch redrive`: watch all of the quarantine again.
struct BatchRedrive: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Watch all again that a search finds in quarantine."
    )

    static let outcome = "watched again"

    @OptionGroup var batch: BatchOptions
}

/// `pollerctl batch dismiss`: take all out of the quarantine for good.
struct BatchDismiss: BatchCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Take all out of quarantine for good that a search finds there."
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

/// What is selected, and whether it is meant.
struct BatchOptions: ParsableArguments {
    @Argument(help: "What the watches are like, as pollerctl list takes it.")
    var query: [String]

    @Flag(help: "Do it; without, they are counted.")
    var yes = false

    @Option(help: "Of this account only.")
    var account: String?

    @OptionGroup var server: ServerOptions

    /// Counts first; then, if it is meant, does it part by part.
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

/// Words of a search as the server reads them.
enum SearchQuery {
    /// The words side by side, with the quotation marks that the shell has taken off.
    static func text(of words: [String]) -> String {
        words.map(quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        guard word.contains(where: \.isWhitespace), !word.contains("\"") else { return word }
        guard let at = word.firstIndex(where: { "=!<>".contains($0) }),
            !word[..<at].contains(where: \.isWhitespace)
        else { return "\"\(word)\"" }
        let value = word[at...].drop { "=!<>".contains($0) }
        return word[..<value.startIndex] + "\"\(value)\""
    }
}
