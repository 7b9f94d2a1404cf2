import ArgumentParser

/// The measurements of `pollerd bench` and their duration: its options.
///
/// A separate library, because two programs parse them: pollerd checks them and then replaces
/// itself by pollerd-bench, which measures. The production program thus contains no measuring code.
package struct BenchPlan: ParsableArguments, Sendable {
    /// One measurement; they run in this order.
    package enum Stage: String, Sendable, CaseIterable {
        /// Enqueue rate and memory, in one large lane and in many small ones.
        case enqueue
        /// Polls of an upstream that costs nothing.
        case engine
        /// A real worker against nginx: HTTP, TLS, saturated and at three rates.
        case real
        /// Polls of the sandbox, compared with plain GET requests to it.
        case whole
        /// Due lag and publication at one rate, with many watches far in the future.
        case lag
        /// The cost of those watches while nothing is due.
        case idle
        /// A small lane next to one with a large backlog.
        case fairness
        /// A lane at its limit.
        case limit
        /// Webhooks: latency and rate, also while one endpoint hangs.
        case deliver
        /// Marks of events for very many endpoints.
        case fanOut = "fan_out"
        /// WebSockets: memory, latency, and recovery after a crash.
        case live
        /// The cost of a hundred thousand subscribers for the gateways they share.
        case subscribers = "crowd"
        /// Searching all watches.
        case search
        /// How the cost of a poll grows; it takes minutes, so it runs only when selected.
        case growth
        /// The Redis cost of each store operation by the amount of data; runs only when selected.
        case scale
        /// How evenly the masters of a Redis Cluster share the load; it needs a Cluster, so it runs
        /// only when selected.
        case masters
        /// How long Stripe responses take to decode by their size and structure; runs only when
        /// selected.
        case json

        /// Whether it runs when no measurement is selected.
        fileprivate var isUsual: Bool {
            switch self {
            case .growth, .scale, .masters, .json: false
            default: true
            }
        }
    }

    /// A load for the measurement of a real worker; they run in this order.
    package enum RealLoad: String, Sendable, CaseIterable {
        /// As many polls as possible, over HTTP.
        case http
        /// The same over TLS.
        case tls
        /// As many polls as possible over HTTP. Each observes a change.
        case changes
        /// The same over TLS.
        case changesTLS = "changes_tls"
        /// 100 a second over 20 accounts.
        case paced100 = "paced_100"
        /// 1,000 a second over 100 accounts.
        case paced1000 = "paced_1000"
        /// 4,000 a second over 100 accounts.
        case paced4000 = "paced_4000"
        /// 1,000 polls in flight at once, to measure memory.
        case inFlight1000 = "in_flight_1000"
    }

    private static let floor = "floor"

    @Flag(help: "Print one JSON object instead of a table.")
    package var json = false

    @Option(help: "Seconds of each measurement.")
    private var seconds = 5

    @Option(help: "Pending watches for enqueue rate and memory; subscribers of `crowd`.")
    package var watches = 100_000

    @Option(help: "Watches far in the future for `lag` and `idle`.")
    package var pending = 100_000

    @Option(help: "Polls a second for due lag and publication latency.")
    package var rate = 500

    @Option(help: "Polls in flight at once, also in a separate worker.")
    package var concurrency = 256

    @Option(help: "Watches at each point of `scale`, separated by commas.")
    private var sizes = "1000,10000,100000"

    @Option(help: "Lanes of one partition at each point of `scale`, separated by commas.")
    private var lanes = "1000,10000"

    @Option(help: "Registered processes at each point of `scale`, separated by commas.")
    private var processes = "10,100,500"

    @Option(help: "Partitions of the stores of `masters`, separated by commas.")
    private var parts = "64,256"

    @Option(help: "Gateways of each run of `crowd`, separated by commas.")
    private var gateways = "1,3"

    @Option(help: "Subscriptions on each WebSocket of `crowd`.")
    package var perSocket = 100

    @Option(help: "Events a second of `crowd`.")
    package var events = 1000

    @Option(
        help: """
            Only these loads of `real`, separated by commas: \
            \(RealLoad.allCases.map(\.rawValue).joined(separator: ", ")); \
            \(BenchPlan.floor) for the cost of a plain GET request.
            """
    )
    private var loads: String?

    @Flag(help: "Spread the due times of a pace at random, not evenly.")
    package var random = false

    @Option(
        help: "The program of ops/peers/asynq, to measure under the same loads of `real`, too."
    )
    private var peer: String?

    @Option(
        help: "The library of ops/allocations.c, to count the allocations of a poll at full load."
    )
    private var allocations: String?

    @Option(help: "Also write the JSON object to this file.")
    private var save: String?

    @Option(
        help: """
            Only these measurements, separated by commas: \
            \(Stage.allCases.map(\.rawValue).joined(separator: ", ")).
            """
    )
    private var only: String?

    /// Makes the default plan.
    package init() {}

    /// The file to which the JSON object is also written; `nil` without one.
    package var savedTo: String? { save }

    /// The file of the program to measure under the loads of ``Stage/real``, too; `nil` without one.
    package var peerProgram: String? { peer }

    /// The file of the library that counts allocations; `nil` without one.
    package var allocationLibrary: String? { allocations }

    /// How long each measurement takes.
    package var span: Duration { .seconds(seconds) }

    /// The selected measurements; an unknown name was rejected before.
    package var stages: [Stage] {
        guard let only else { return Stage.allCases.filter(\.isUsual) }
        return only.split(separator: ",").compactMap { Stage(rawValue: String($0)) }
    }

    /// Watches of each point of ``Stage/scale``, ascending.
    package var scaleWatches: [Int] { Self.numbers(sizes) ?? [] }

    /// Lanes of each point of ``Stage/scale``, ascending.
    package var scaleLanes: [Int] { Self.numbers(lanes) ?? [] }

    /// Processes of each point of ``Stage/scale``, ascending.
    package var scaleProcesses: [Int] { Self.numbers(processes) ?? [] }

    /// Partitions of each store of ``Stage/masters``.
    package var mastersPartitions: [Int] { Self.numbers(parts) ?? [] }

    /// Gateways of each run of ``Stage/subscribers``.
    package var subscriberGateways: [Int] { Self.numbers(gateways) ?? [] }

    /// The loads of ``Stage/real``; an unknown name was rejected before.
    package var realLoads: [RealLoad] {
        guard let loads else { return RealLoad.allCases }
        return loads.split(separator: ",").compactMap { RealLoad(rawValue: String($0)) }
    }

    /// Whether ``Stage/real`` also measures clients that only send GET requests: unless only other
    /// loads are selected.
    package var measuresFloor: Bool {
        loads?.split(separator: ",").contains { $0 == Self.floor } ?? true
    }

    /// Rejects invalid options.
    package func validate() throws {
        guard (1...600).contains(seconds), (1...10_000_000).contains(watches),
            (0...10_000_000).contains(pending), (1...100_000).contains(rate),
            (1...10_000).contains(concurrency), (1...100).contains(perSocket),
            (100...100_000).contains(events)
        else { throw ValidationError("a number is out of range; see --help") }
        for (list, most) in [
            (sizes, 10_000_000), (lanes, 1_000_000), (processes, 10_000), (parts, 1024),
            (gateways, 100),
        ] {
            guard let numbers = Self.numbers(list), numbers.allSatisfy({ $0 <= most }) else {
                throw ValidationError("\(list) is not a list of ascending numbers up to \(most)")
            }
        }
        for name in only?.split(separator: ",") ?? [] where Stage(rawValue: String(name)) == nil {
            throw ValidationError("there is no measurement \(name); see --help")
        }
        for name in loads?.split(separator: ",") ?? []
        where RealLoad(rawValue: String(name)) == nil && name != Self.floor {
            throw ValidationError("there is no load \(name); see --help")
        }
    }

    /// The same plan as command-line arguments.
    package var arguments: [String] {
        var words = json ? ["--json"] : []
        if random { words.append("--random") }
        let texts = [
            ("--only", only), ("--loads", loads), ("--peer", peer), ("--allocations", allocations),
            ("--save", save),
        ]
        for (name, text) in texts { if let text { words += [name, text] } }
        let numbers = [
            ("--seconds", seconds), ("--watches", watches), ("--pending", pending),
            ("--rate", rate), ("--concurrency", concurrency), ("--per-socket", perSocket),
            ("--events", events),
        ]
        for (name, number) in numbers { words += [name, String(number)] }
        for (name, list) in [
            ("--sizes", sizes), ("--lanes", lanes), ("--processes", processes),
            ("--parts", parts), ("--gateways", gateways),
        ] {
            words += [name, list]
        }
        return words
    }

    /// Parses ascending numbers separated by commas; returns `nil` for anything else.
    private static func numbers(_ list: String) -> [Int]? {
        let numbers = list.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        let known = numbers.compactMap(\.self)
        guard known.count == numbers.count, known.first ?? 0 > 0,
            zip(known, known.dropFirst()).allSatisfy(<)
        else { return nil }
        return known
    }
}
