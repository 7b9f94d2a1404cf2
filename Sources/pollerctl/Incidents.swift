import ArgumentParser
import PollerClient
import PollerWire

import struct PollerClient.Page

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
struct IncidentList: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List what operators were told of: open incidents, then those resolved last.",
        discussion: """
            To be told, register an endpoint (pollerctl endpoint add URL --types 'operator.*'), or name \
            URLs in POLLER_OPERATOR_NOTIFY. With --json one incident a line. Exit status 0, whatever is \
            wrong: pollerctl doctor is for scripts.
            """
    )
    static let route = ListRoute<Incident>("/v1/incidents", pageMax: nil)

    @Flag(help: "Only those that are open.")
    var open = false

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "there is no incident" }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("status", open ? "open" : nil)]
    }

    func remark(on page: Page<Incident>) {
        guard Terminal.isInteractive, !server.json else { return }
        for incident in page.items.map(\.value) where incident.status.known == .open {
            guard let action = incident.action else { continue }
            let kind = Terminal.clean(incident.kind.rawValue)
            Terminal.printLine("\(kind): → \(Terminal.clean(action))")
        }
    }
}

extension Incident: Listed {
    static var columns: [Column<Incident>] {
        [
            Column("STATUS") { $0.status.cell($0.status.known == .open ? .bad : .good) },
            Column("KIND", .strong, \.kind), Column("SINCE", drop: 4, \.since),
            Column("OVER", drop: 3, \.resolvedAt), Column("COUNT", drop: 2, \.count),
            Column("MESSAGE", \.message), Column("ID", .faint, drop: 1, \.id),
        ]
    }
}
