import ArgumentParser
import Foundation
import JSONText
import PollerClient
import PollerWire

struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a live view of lag, lanes and processes.",
        discussion:
            "Refreshes on a terminal until you press q. Elsewhere, and with --json, prints once.",
        example: "pollerctl top --interval 5s"
    )

    @Option(help: "The refresh interval on a terminal.")
    var interval = Span(.seconds(2))

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard interval.duration >= .milliseconds(200) else {
            throw ValidationError("--interval must be at least 200ms")
        }
    }

    func run() async throws {
        try await server.perform { client in
            let view = try await ClusterView(client, RecentActivity(client))
            if server.json { return Terminal.printJSON(view.json) }
            guard Terminal.takesCommands else {
                for line in view.lines { Terminal.printLine(line) }
                return
            }
            try await refresh(client, from: view)
        }
    }

    /// Refreshes the view; while the server is unavailable the last state stays visible.
    private func refresh(_ client: PollerClient, from first: ClusterView) async throws {
        // The alternate screen keeps the previous contents.
        let keys = Keyboard.keys(restoreText: "\u{1B}[?1049l")
        Terminal.write("\u{1B}[?1049h")
        let quits = Task {
            for await key in keys where key == "q" { Foundation.exit(0) }
        }
        defer { quits.cancel() }
        var view = first
        var note = ""
        var activityReadAt = ContinuousClock.now
        while true {
            Terminal.redraw(
                [Terminal.coloured("\(Terminal.clean(client.url)) \(note)", .faint), ""]
                    + view.lines
            )
            try await Task.sleep(for: interval.duration)
            do {
                var activity = view.activity
                // The history does not change more often.
                if activityReadAt.duration(to: .now) >= RecentActivity.updateInterval {
                    activity = try await RecentActivity(client)
                    activityReadAt = .now
                }
                view = try await ClusterView(client, activity)
                note = ""
            } catch let error as PollerError where error.isTransient {
                note = Terminal.clean("unavailable, showing the last state: \(error)")
            }
        }
    }
}

/// The cluster at one moment, as `pollerctl top` shows it.
struct ClusterView {
    /// The number of lanes that fit a screen.
    private static let lanesMax = 12
    /// The number of busiest processes shown; `pollerctl worker list` shows all.
    private static let workersMax = 12
    /// The delay from which a watch counts as late with the default lease, where the server does not report it.
    static let lateMs = 15_000

    let stats: Stats
    let lanes: [Received<Lane>]
    let workers: [Received<Worker>]
    let activity: RecentActivity

    /// Reads the state from the server.
    init(_ client: PollerClient, _ activity: RecentActivity) async throws {
        self.activity = activity
        stats = try await client.stats()
        lanes = try await client.lanes(limit: Self.lanesMax).items
        workers = try await client.workers().items
    }

    /// The view as one JSON object.
    var json: String {
        """
        {"stats":\(RawJSON(unchecked: stats.json).inOrder),\
        "lanes":[\(lanes.map(\.json).joined(separator: ","))],\
        "workers":[\(workers.map(\.json).joined(separator: ","))]}
        """
    }

    var lines: [String] {
        let lanes = Table(Lane.columns(isServed: stats.workers != 0), self.lanes.map(\.value))
        let busiest = self.workers.sorted { $0.inFlight > $1.inFlight }.prefix(Self.workersMax)
        let workers = Table(Worker.columns, busiest.map(\.value))
        let more = self.workers.count - busiest.count
        return summary + activity.lines(within: Terminal.width)
            + ["", Terminal.coloured("Blocked lanes first", .strong)]
            + (lanes.rows.isEmpty ? ["no lanes"] : lanes.lines(forPeople: true))
            + ["", Terminal.coloured("Processes", .strong)]
            + (workers.rows.isEmpty ? ["no processes"] : workers.lines(forPeople: true))
            + (more > 0 ? ["… and \(more) more"] : [])
    }

    private var summary: [String] {
        let watches = stats.watches
        let lateMs = stats.oldestOverdueMs ?? 0
        let lag = lateMs > 0 ? "oldest \(Duration.milliseconds(lateMs).shown)" : "on time"
        let lagColour: Terminal.Colour? = lateMs > stats.lateAfterMs ?? Self.lateMs ? .bad : nil
        let quarantined = stats.quarantined ?? 0
        let lanes = stats.lanes.map { lanes in
            "\(lanes.total), \(lanes.paused) paused, \(lanes.open) open, "
                + "\(lanes.held + lanes.probing) held, \(lanes.slowed) slowed"
        }
        return [
            "Watches    \(watches.pending) waiting, \(watches.leased) being polled, "
                + "\(watches.closed) closed",
            "Due lag    "
                + Terminal.coloured("\(watches.overdue) overdue, \(lag)", lagColour),
            "Lanes      \(lanes ?? "\(watches.lanes)")",
            "Quarantine "
                + Terminal.coloured("\(quarantined)", quarantined > 0 ? .careful : nil),
            "Delivery   \(watches.undelivered) events to mark, "
                + "\(stats.deliveries.pending) deliveries waiting, "
                + "\(stats.deliveries.leased) in flight",
            "           "
                + Terminal.coloured(
                    "\(stats.dead ?? 0) dead",
                    (stats.dead ?? 0) > 0 ? .bad : nil
                )
                + ", "
                + Terminal.coloured(
                    "\(stats.endpointsDown ?? 0) endpoints down",
                    (stats.endpointsDown ?? 0) > 0 ? .careful : nil
                ),
        ]
    }
}
