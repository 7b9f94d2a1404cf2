import ArgumentParser
import PollerClient

/// `pollerctl wait`: until a source has a status.
struct Wait: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Wait until a source is final or has a status.",
        discussion: "Exit status: 0 reached, 2 closed otherwise, 3 timed out."
    )

    @Argument(help: "The id.")
    var source: String

    @Option(help: "final, left_pending, or a status such as chargeable.")
    var until = "final"

    @Option(help: "How long to wait.")
    var timeout = Span(.seconds(120))

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let goal: WaitGoal =
                switch until {
                case "final": .final
                case "left_pending": .leftPending
                default: .status(until.lowercased())
                }
            let result = try await client.wait(
                for: names.name(source),
                until: goal,
                timeout: timeout.duration
            )
            switch result {
            case .reached(let watch): show(watch)
            case .closed(let watch):
                show(watch)
                Terminal.printError(
                    "\(source) is closed (\(watch.closedReason ?? "?")) and will not be \(until)"
                )
                throw ExitCode(2)
            case .timedOut(let watch):
                show(watch)
                Terminal.printError("\(source) is not \(until) yet\nWait longer with --timeout.")
                throw ExitCode(3)
            }
        }
    }

    private func show(_ watch: Watch) {
        if server.json {
            Terminal.printLine(watch.json)
        } else {
            let status = watch.status ?? "not seen yet"
            Terminal.printLine("\(Terminal.clean(watch.source))\t\(Terminal.clean(status))")
        }
    }
}
