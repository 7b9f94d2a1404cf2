import ArgumentParser
import PollerClient

/// `pollerctl worker list`: who works right now.
struct WorkerList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the processes alive, with what they have in hand.",
        discussion: "With --json one process a line."
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let page = try await client.workers()
            if server.json {
                for worker in page.items { Terminal.printLine(worker.json) }
            } else {
                var table = Worker.table
                table.rows = page.items.map(\.row)
                table.print()
            }
        }
    }
}
