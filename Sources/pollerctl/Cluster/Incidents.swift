import ArgumentParser
import PollerClient
import PollerWire

import struct PollerClient.Page

struct IncidentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "incident",
        abstract: "Show open and recent incidents of the cluster.",
        discussion: "Example: pollerctl incident list --open",
        subcommands: [IncidentList.self],
        defaultSubcommand: IncidentList.self
    )
}

struct IncidentList: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List open incidents, then recently resolved ones.",
        discussion: """
            To receive incidents, register an endpoint (pollerctl endpoint add URL --types \
            'operator.*') or set POLLER_OPERATOR_NOTIFY to URLs. --json prints one incident per line. \
            The exit status is 0 even with open incidents; scripts should use pollerctl doctor.
            """,
        example: "pollerctl incident list --open"
    )
    static let route = ListRoute<Incident>("/v1/incidents", pageMax: nil)

    @Flag(help: "Only open incidents.")
    var open = false

    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no incidents" }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("status", open ? "open" : nil)]
    }

    func printNotes(on page: Page<Incident>) {
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
            Column("RESOLVED", drop: 3, \.resolvedAt), Column("COUNT", drop: 2, \.count),
            Column("MESSAGE", \.message), Column("ID", .faint, drop: 1, \.id),
        ]
    }
}
