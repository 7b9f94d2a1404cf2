import ArgumentParser
import PollerClient
import PollerQueue
import PollerWire
import SafeNumbers

/// `pollerctl lane`: the watches that share one upstream limit.
struct LaneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lane",
        abstract: "Look at lanes, stop them, change their limits while they run.",
        discussion: """
            A lane is the watches of one account at one endpoint of the upstream, such as \
            default/sources: they share its rate limit.
            """,
        subcommands: [
            LaneList.self, LaneGet.self, LanePause.self, LaneResume.self, LaneLimit.self,
        ],
        defaultSubcommand: LaneList.self
    )
}

/// `pollerctl lane list`: what holds things up first.
struct LaneList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List lanes, what holds things up first.",
        discussion: "With --json one lane a line."
    )
    static let route = ListRoute<Lane>("/v1/lanes")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var server: ServerOptions

    func columns(_ client: PollerClient) async -> [Column<Lane>] {
        Lane.columns(isServed: await client.hasWorkers)
    }
}

/// `pollerctl lane get`: one lane.
struct LaneGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a lane."
    )

    @Argument(help: "The lane: ACCOUNT/ENDPOINT, such as default/sources.")
    var lane: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let found = try await client.lane(lane)
            guard !server.json else { return Terminal.printJSON(found.json) }
            found.value.facts(isServed: await client.hasWorkers).print()
        }
    }
}

/// The lanes that a command changes.
struct LaneTargets: Targets {
    @Argument(help: "The lanes: ACCOUNT/ENDPOINT, such as default/sources.")
    var lanes: [String]

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { lanes }
}

/// `pollerctl lane pause`: poll nothing more of some lanes.
struct LanePause: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Poll nothing more of a lane until it is resumed; polls in flight go on."
    )

    @OptionGroup var targets: LaneTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Lane>, String) {
        let lane = try await client.pause(lane: id)
        return (lane, "is paused; \(lane.inFlight) in flight go on, \(lane.waiting) wait")
    }
}

/// `pollerctl lane resume`: let some lanes go on.
struct LaneResume: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let a paused lane go on; also ends a hold and closes its circuit."
    )

    @OptionGroup var targets: LaneTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Lane>, String) {
        let lane = try await client.resume(lane: id)
        return (lane, "goes on; \(lane.waiting) wait")
    }
}

/// `pollerctl lane limit`: how fast some lanes may go.
struct LaneLimit: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Give a lane a limit of its own, or the default again.",
        discussion: """
            It holds from the next claim on; what is not named stays as it is. Within any second \
            there are at most rate + burst polls.
            """
    )

    @OptionGroup var targets: LaneTargets

    @Option(help: "Polls a second, 0 for no limit.")
    var rate: Double?

    @Option(help: "Polls that may follow each other at once.")
    var burst: Int?

    @Option(help: "Polls in flight at once.")
    var concurrency: Int?

    @Flag(name: .customLong("default"), help: "Use the server's default again.")
    var isDefault = false

    func validate() throws {
        let hasLimit = rate != nil || burst != nil || concurrency != nil
        guard hasLimit != isDefault else {
            throw ValidationError(
                "name --rate, --burst or --concurrency, or --default alone: "
                    + "pollerctl lane limit default/sources --rate 10 --burst 2"
            )
        }
        if let rate {
            guard rate.isFinite, rate >= 0 else {
                throw ValidationError("--rate must be 0 or a positive number")
            }
        }
        for (name, value) in [("--burst", burst), ("--concurrency", concurrency)] {
            guard value ?? 1 >= 1 else { throw ValidationError("\(name) must be at least 1") }
        }
    }

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Lane>, String) {
        let lane =
            isDefault
            ? try await client.useDefaultLimit(lane: id)
            : try await client.limit(lane: id, rate: rate, burst: burst, concurrency: concurrency)
        let isOwn = lane.limit.isDefault ? "the default" : "its own limit"
        return (lane, "has \(isOwn): \(lane.limit.shown)")
    }
}

extension PollerClient {
    /// Whether anybody polls, as far as this key may know: without a worker nothing flows.
    var hasWorkers: Bool {
        // Whoever may not read counts is told of the lanes alone.
        get async { (try? await stats().workers) != 0 }
    }
}

extension Lane: Shown {
    /// The columns of a list; `isServed`: whether a worker is alive.
    static func columns(isServed: Bool) -> [Column<Lane>] {
        [
            Column("LANE", .strong, \.id), Column("STATE") { $0.stateCell(isServed: isServed) },
            Column("OVERDUE", \.overdue),
            Column("OLDEST") { $0.overdue > 0 ? $0.overdueShown : nil },
            Column("WAITING", drop: 3, \.waiting), Column("IN FLIGHT", drop: 2, \.inFlight),
            Column("LIMIT", drop: 1) {
                Table.Cell($0.limit.shown, $0.limit.isDefault ? .faint : nil)
            },
        ]
    }

    var title: String { id }

    var facts: Facts { facts(isServed: true) }

    /// What is told of it alone; `isServed`: whether anybody polls.
    func facts(isServed: Bool) -> Facts {
        var facts = Facts()
        facts.add("lane", id, .strong)
        facts.add("state", stateCell(isServed: isServed))
        facts.add("overdue", overdue > 0 ? "\(overdue), the oldest for \(overdueShown)" : "0")
        facts.add("waiting", "\(waiting)")
        facts.add("in flight", "\(inFlight)")
        facts.add("limit", limit.shown + (limit.isDefault ? " (default)" : " (its own)"))
        if failures > 0 { facts.add("failures", "\(failures) in a row", .careful) }
        facts.add("last failure", failure.map { "the upstream \($0.shown)" }, .careful)
        return facts
    }

    private var overdueShown: String { Duration.milliseconds(overdueMs).shown }

    private func stateCell(isServed: Bool) -> Table.Cell {
        if !isServed, [.flowing, .slowed].contains(state.known) { return .init("no worker", .bad) }
        let isStopped = [.open, .probing].contains(state.known)
        let why = isStopped ? failure.map { ": the upstream \($0.shown)" } ?? "" : ""
        let slowed = factor < 1 ? " at \(Int(saturating: factor * 100)) %" : ""
        return .init(
            people: state.rawValue + why + (heldUntil.map { ", goes on \($0.away())" } ?? "")
                + slowed,
            programs: state.rawValue + why + (heldUntil.map { " until \($0)" } ?? "") + slowed,
            colour
        )
    }

    private var colour: Terminal.Colour? {
        switch state.known {
        case .flowing: .good
        case .open: .bad
        default: .careful
        }
    }
}

extension Open<FailureKind> {
    /// What the other side does, for people.
    var shown: String {
        switch known {
        case .denied: "refuses our credentials (401 or 403)"
        case .revoked: "refuses the account's key (401)"
        case .errors: "answers with errors"
        case .silent: "does not answer"
        case nil: "fails (\(rawValue))"
        }
    }

    /// The failure as a short phrase, where a list has no text of an error.
    var phrase: String {
        switch known {
        case .denied, .revoked: "refuses us"
        case .errors: "answers with errors"
        case .silent: "no answer"
        case nil: "fails (\(rawValue))"
        }
    }
}

extension PollerWire.LaneLimit {
    /// The limit for people: `20/s + 5, 20 at once`.
    var shown: String {
        let rateShown = rate == rate.rounded() ? "\(Int(saturating: rate))" : "\(rate)"
        return (rate == 0 ? "no rate" : "\(rateShown)/s + \(burst)") + ", \(concurrency) at once"
    }
}

/// `pollerctl account`: the accounts of the cluster.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Look at what accounts have and may have.",
        subcommands: [AccountList.self],
        defaultSubcommand: AccountList.self
    )
}

/// `pollerctl account list`: open watches and endpoints of each, with their limits.
struct AccountList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List accounts with their open watches, endpoints and limits.",
        discussion: """
            Those that have had a watch. Limits are the options watches_per_account and \
            endpoints_per_account, and limits of an account in the configuration file. With --json one \
            account a line.
            """
    )
    static let route = ListRoute<Account>("/v1/accounts")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var server: ServerOptions
}

extension Account: Listed {
    static var columns: [Column<Account>] {
        [
            Column("ACCOUNT", .strong, \.id),
            Column("OPEN WATCHES") { cell($0.open, of: $0.openMax) },
            Column("AT MOST", .faint, \.openMax),
            Column("ENDPOINTS") { cell($0.endpoints, of: $0.endpointsMax) },
            Column("AT MOST", .faint, \.endpointsMax),
        ]
    }

    /// What is at its limit takes nothing new.
    private static func cell(_ count: Int, of most: Int?) -> Table.Cell {
        .init("\(count)", most.map { count >= $0 } ?? false ? .careful : nil)
    }
}
