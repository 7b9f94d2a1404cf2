import ArgumentParser
import PollerClient
import PollerWire
import SafeNumbers

struct LaneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lane",
        abstract: "Show, pause, resume and limit lanes.",
        discussion: """
            A lane is all watches of one account at one endpoint of the upstream, such as \
            default/sources. They share its rate limit.
            """,
        example: "pollerctl lane list",
        subcommands: [
            LaneList.self, LaneGet.self, LanePause.self, LaneResume.self, LaneLimit.self,
        ],
        defaultSubcommand: LaneList.self
    )
}

struct LaneList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List lanes, blocked ones first.",
        discussion: "--json prints one lane per line. Example: pollerctl lane list"
    )
    static let route = ListRoute<Lane>("/v1/lanes")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var server: ServerOptions

    func columns(_ client: PollerClient) async -> [Column<Lane>] {
        Lane.columns(isServed: await client.hasWorkers)
    }
}

struct LaneGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a lane.",
        discussion: "Example: pollerctl lane get default/sources"
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

struct LanePause: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause polling of a lane; polls in flight finish.",
        discussion: "Example: pollerctl lane pause default/sources"
    )

    @OptionGroup var targets: LaneTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Lane>, String) {
        let lane = try await client.pause(lane: id)
        return (lane, "is paused: \(lane.inFlight) in flight, \(lane.waiting) waiting")
    }
}

struct LaneResume: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume a paused lane; also ends a hold and closes its circuit.",
        discussion: "Example: pollerctl lane resume default/sources"
    )

    @OptionGroup var targets: LaneTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Lane>, String) {
        let lane = try await client.resume(lane: id)
        return (lane, "is resumed: \(lane.waiting) waiting")
    }
}

struct LaneLimit: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Set the limit of a lane, or reset it to the default.",
        discussion: """
            Takes effect with the next claim. Values without an option stay as they are. At most \
            rate + burst polls start in any second.
            """,
        example: "pollerctl lane limit default/sources --rate 10 --burst 2"
    )

    @OptionGroup var targets: LaneTargets

    @Option(help: "Polls per second; 0 for no limit.")
    var rate: Double?

    @Option(help: "Polls that may exceed the rate at once.")
    var burst: Int?

    @Option(help: "Maximum polls in flight.")
    var concurrency: Int?

    @Flag(name: .customLong("default"), help: "Reset to the server's default.")
    var isDefault = false

    func validate() throws {
        let hasLimit = rate != nil || burst != nil || concurrency != nil
        guard hasLimit != isDefault else {
            throw ValidationError(
                "give --rate, --burst or --concurrency, or only --default: "
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
        let kind = lane.limit.isDefault ? "the default" : "a custom"
        return (lane, "has \(kind) limit: \(lane.limit.shown)")
    }
}

extension PollerClient {
    /// Whether a worker is running; true if this key may not read the counts.
    var hasWorkers: Bool {
        get async { (try? await stats().workers) != 0 }
    }
}

extension Lane: Shown {
    /// The columns of a list; `isServed` is whether a worker is running.
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

    /// The facts of one lane; `isServed` is whether a worker is running.
    func facts(isServed: Bool) -> Facts {
        var facts = Facts()
        facts.add("lane", id, .strong)
        facts.add("state", stateCell(isServed: isServed))
        facts.add("overdue", overdue > 0 ? "\(overdue), the oldest for \(overdueShown)" : "0")
        facts.add("waiting", "\(waiting)")
        facts.add("in flight", "\(inFlight)")
        facts.add("limit", limit.shown + (limit.isDefault ? " (default)" : " (custom)"))
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
            people: state.rawValue + why + (heldUntil.map { ", resumes \($0.relative())" } ?? "")
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
    /// The failure as a sentence without its subject.
    var shown: String {
        switch known {
        case .denied: "rejects our credentials (401 or 403)"
        case .revoked: "rejects the account's key (401)"
        case .errors: "returns errors"
        case .silent: "does not respond"
        case nil: "fails (\(rawValue))"
        }
    }

    /// The failure as a short phrase, for lists without an error text.
    var phrase: String {
        switch known {
        case .denied, .revoked: "rejects our key"
        case .errors: "returns errors"
        case .silent: "no response"
        case nil: "fails (\(rawValue))"
        }
    }
}

extension PollerWire.LaneLimit {
    /// The limit for display: `20/s + 5, 20 at once`.
    var shown: String {
        let rateShown = rate == rate.rounded() ? "\(Int(saturating: rate))" : "\(rate)"
        return (rate == 0 ? "no rate" : "\(rateShown)/s + \(burst)") + ", \(concurrency) at once"
    }
}

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Show accounts with their usage and limits.",
        discussion: "Example: pollerctl account list",
        subcommands: [AccountList.self],
        defaultSubcommand: AccountList.self
    )
}

struct AccountList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List accounts with their open watches, endpoints and limits.",
        discussion: """
            Lists every account that has had a watch. Limits come from the options \
            watches_per_account and endpoints_per_account, or from the account's limits in the \
            configuration file. --json prints one account per line.
            """,
        example: "pollerctl account list"
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
            Column("LIMIT", .faint, \.openMax),
            Column("ENDPOINTS") { cell($0.endpoints, of: $0.endpointsMax) },
            Column("LIMIT", .faint, \.endpointsMax),
        ]
    }

    /// A count in the warning colour if it is at its limit.
    private static func cell(_ count: Int, of most: Int?) -> Table.Cell {
        .init("\(count)", most.map { count >= $0 } ?? false ? .careful : nil)
    }
}
