import ArgumentParser
import Foundation
import JSONText
import PollerClient
import PollerWire

/// `pollerctl top`: the cluster as it runs.
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show due lag, the lanes that hold things up, and the processes.",
        discussion: "On a terminal until q is pressed; elsewhere, and with --json, once."
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
            let view = try await ClusterView(client, RecentActivity(client))
            if server.json { return Terminal.printJSON(view.json) }
            guard Terminal.takesCommands else {
                for line in view.lines { Terminal.printLine(line) }
                return
            }
            try await refresh(client, from: view)
        }
    }

    /// A server that does not answer for a moment is waited for: its last state stays visible.
    private func refresh(_ client: PollerClient, from first: ClusterView) async throws {
        // What was on the screen before comes back at the end.
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
                // It changes no more often.
                if activityReadAt.duration(to: .now) >= RecentActivity.updateInterval {
                    activity = try await RecentActivity(client)
                    activityReadAt = .now
                }
                view = try await ClusterView(client, activity)
                note = ""
            } catch let error as PollerError where error.isTransient {
                note = Terminal.clean("does not answer, shown is what it said last: \(error)")
            }
        }
    }
}

/// The cluster at one moment, as `pollerctl top` shows it.
struct ClusterView {
    /// Lanes activityReadAt for: what fits a screen.
    private static let lanesMax = 12
    /// Processes shown, those with the most in hand: the rest is in `pollerctl worker list`.
    private static let workersMax = 12
    /// A lease and a second and some room: beyond it something holds the cluster up.
    static let lateMs = 15_000

    let stats: Stats
    let lanes: [Received<Lane>]
    let workers: [Received<Worker>]
    let activity: RecentActivity

    /// Asks the server.
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

    /// The view for people, line by line.
    var lines: [String] {
        let lanes = Table(Lane.columns(isServed: stats.workers != 0), self.lanes.map(\.value))
        let busiest = self.workers.sorted { $0.inFlight > $1.inFlight }.prefix(Self.workersMax)
        let workers = Table(Worker.columns, busiest.map(\.value))
        let more = self.workers.count - busiest.count
        return summary + activity.lines(within: Terminal.width)
            + ["", Terminal.coloured("What holds things up", .strong)]
            + (lanes.rows.isEmpty ? ["no lane holds anything"] : lanes.lines(forPeople: true))
            + ["", Terminal.coloured("Processes", .strong)]
            + (workers.rows.isEmpty ? ["none is alive"] : workers.lines(forPeople: true))
            + (more > 0 ? ["… and \(more) more"] : [])
    }

    private var summary: [String] {
        let watches = stats.watches
        let lateMs = stats.oldestOverdueMs ?? 0
        let lag = lateMs > 0 ? "oldest \(Duration.milliseconds(lateMs).shown)" : "on time"
        let lagColour: Terminal.Colour? = lateMs > Self.lateMs ? .bad : nil
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
                + "\(stats.deliveries.leased) under way",
            "           "
                + Terminal.coloured(
                    "\(stats.dead ?? 0) gave up",
                    (stats.dead ?? 0) > 0 ? .bad : nil
                )
                + ", "
                + Terminal.coloured(
                    "\(stats.endpointsDown ?? 0) endpoints take no events",
                    (stats.endpointsDown ?? 0) > 0 ? .careful : nil
                ),
        ]
    }
}
