import ArgumentParser
import PollerClient

/// `pollerctl top`: the cluster as it runs.
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show due lag, the lanes that hold things up, and the processes.",
        discussion: "On a terminal until it is interrupted; elsewhere, and with --json, once."
    )

    @Option(help: "How often to look on a terminal.")
    var interval = Span(.seconds(2))

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard interval.duration >= .milliseconds(200) else {
            throw ValidationError("--interval must be at least 200ms")
        }
    }

    func run() async throws {
        try await server.perform { client in
            let view = try await ClusterView(client)
            if server.json { return Terminal.printLine(try view.json) }
            guard Terminal.isInteractive else {
                for line in view.lines { Terminal.printLine(line) }
                return
            }
            try await refresh(client, from: view)
        }
    }

    /// A server that does not answer for a moment is waited for: its last state stays visible.
    private func refresh(_ client: PollerClient, from first: ClusterView) async throws {
        var view = first
        var note = ""
        while true {
            Terminal.redraw(
                [Terminal.coloured("\(Terminal.clean(client.url)) \(note)", .faint), ""]
                    + view.lines
            )
            try await Task.sleep(for: interval.duration)
            do {
                view = try await ClusterView(client)
                note = ""
            } catch let error as PollerError where error.isTransient {
                note = Terminal.clean("does not answer, shown is what it said last: \(error)")
            }
        }
    }
}
