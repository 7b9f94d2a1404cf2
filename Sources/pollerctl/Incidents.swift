import ArgumentParser
import PollerClient
import PollerWire

/// `pollerctl incident`: what operators were told of.
struct IncidentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "incident",
        abstract: "Look at what is wrong with the cluster, and what was so of late.",
        subcommands: [IncidentList.self],
        defaultSubcommand: IncidentList.self
    )
}

/// `pollerctl incident list`: those that are open, and the ones resolved last.
struct IncidentList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List what operators were told of: open incidents, then those resolved last.",
        discussion: """
            To be told, register an endpoint (pollerctl endpoint add URL --types 'operator.*'), or name \
            URLs in POLLER_OPERATOR_NOTIFY. With --json one incident a line. Exit status 0, whatever is \
            wrong: pollerctl doctor is for scripts.
            """
    )

    @Flag(help: "Only those that are open.")
    var open = false

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let page = try await client.incidents(status: open ? .open : nil)
            if server.json {
                for incident in page.items { Terminal.printJSON(incident.json) }
            } else {
                var table = Incident.table
                table.rows = page.items.map(\.value.row)
                table.print()
                if page.items.isEmpty, Terminal.isErrorInteractive {
                    Terminal.printError("there is no incident")
                }
                for incident in page.items.map(\.value) where incident.status.known == .open {
                    guard Terminal.isInteractive, let action = incident.action else { continue }
                    let kind = Terminal.clean(incident.kind.rawValue)
                    Terminal.printLine("\(kind): → \(Terminal.clean(action))")
                }
            }
        }
    }
}

extension Incident {
    /// The columns of ``row``.
    fileprivate static var table: Table {
        Table(
            "STATUS",
            "KIND",
            "SINCE",
            "OVER",
            "COUNT",
            "MESSAGE",
            "ID",
            optional: ["ID", "COUNT", "OVER", "SINCE"]
        )
    }

    /// The incident as a row of a list.
    fileprivate var row: [Table.Cell] {
        let isOpen = status.known == .open
        return [
            .init(status.rawValue, isOpen ? .bad : .good), .init(kind.rawValue, .strong),
            since.cell(), resolvedAt?.cell() ?? .init("-"), .init("\(count)"),
            .init(message), .init(id, .faint),
        ]
    }
}
