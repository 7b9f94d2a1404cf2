import ArgumentParser
import PollerClient

/// `pollerctl doctor`: what is wrong, and what to do.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check what the server depends on and say what to do.",
        discussion: "Exit status: 0 no check failed, 1 some did, 69 the server is unreachable."
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let report = try await client.health()
            if server.json {
                try report.showJSON()
            } else {
                Terminal.printLine(Self.line("ok", "server", "answers at \(client.url)"))
                for check in report.checks {
                    Terminal.printLine(Self.line(check.status, check.name, check.message))
                    guard let action = check.action else { continue }
                    Terminal.printLine("         → \(Terminal.clean(action))")
                }
            }
            guard report.healthy else { throw ExitCode(1) }
        }
    }

    private static func line(_ status: String, _ name: String, _ message: String) -> String {
        let colour: Terminal.Colour =
            switch status {
            case "ok": .good
            case "warning": .careful
            default: .bad
            }
        let word = Terminal.clean(status)
        let gap = String(repeating: " ", count: max(1, 9 - word.count))
        return Terminal.coloured(word, colour) + gap
            + "\(Terminal.clean(name)): \(Terminal.clean(message))"
    }
}
