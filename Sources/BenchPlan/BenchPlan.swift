import ArgumentParser

/// What to measure, and for how long: the options of `pollerd bench`.
///
/// A library of its own, because two programs read them: pollerd, which checks them, and
/// pollerd-bench, which it then becomes and which measures. So what runs in production has nothing
/// of the measurements.
package struct BenchPlan: ParsableArguments, Sendable {
    /// One measurement; they run in this order.
    package enum Stage: String, Sendable, CaseIterable {
        /// Enqueue rate and memory, in one large lane and in many small ones.
        case enqueue
        /// Polls of an upstream that costs nothing.
        case engine
        /// A real worker against nginx: HTTP, TLS, saturated and at three paces.
        case real
        /// Polls of the sandbox beside bare GETs of it.
        case whole
        /// Due lag and publication at one rate, beside many watches far in the future.
        case lag
        /// What all those cost while nothing is due.
        case idle
        /// A small lane beside one that is far behind.
        case fairness
        /// A lane at its limit.
        case limit
        /// Webhooks: how soon, how many, and beside an endpoint that hangs.
        case deliver
        /// Marks of events for very many endpoints.
        case fanOut = "fan_out"
        /// WebSockets: memory, latency, and the way back after a crash.
        case live
        /// Finding watches among all there are.
        case search
        /// How the price of a poll grows; it takes minutes, so only when it is named.
        case growth
    }

    /// A load that a real worker is measured under; they run in this order.
    package enum RealLoad: String, Sendable, CaseIterable {
        /// As many polls as it can make, over HTTP.
        case http
        /// The same over TLS.
        case tls
        /// 100 a second over 20 accounts.
        case paced100 = "paced_100"
        /// 1,000 a second over 100 accounts.
        case paced1000 = "paced_1000"
        /// 4,000 a second over 100 accounts.
        case paced4000 = "paced_4000"
        /// 1,000 polls in flight at once, for memory.
        case inFlight1000 = "in_flight_1000"
    }

    private static let floor = "floor"

    @Flag(help: "Print one JSON object instead of a table.")
    package var json = false

    @Option(help: "Seconds of each measurement.")
    private var seconds = 5

    @Option(help: "Pending watches for enqueue rate and memory.")
    package var watches = 100_000

    @Option(help: "Watches far in the future while lag and idleness are measured.")
    package var pending = 100_000

    @Option(help: "Polls a second for due lag and publication latency.")
    package var rate = 500

    @Option(help: "Polls in flight at once; a worker of its own has as many.")
    package var concurrency = 256

    @Option(
        help: """
            Only these loads of `real`, by commas: \
            \(RealLoad.allCases.map(\.rawValue).joined(separator: ", ")); \
            \(BenchPlan.floor) for what a GET costs clients that do nothing else.
            """
    )
    private var loads: String?

    @Option(help: "Also write the JSON object to this file.")
    private var save: String?

    @Option(
        help: """
            Only these measurements, by commas: \
            \(Stage.allCases.map(\.rawValue).joined(separator: ", ")).
            """
    )
    private var only: String?

    /// The defaults.
    package init() {}

    /// The file for the JSON object beside what is printed; nil without one.
    package var savedTo: String? { save }

    /// How long each measurement takes.
    package var span: Duration { .seconds(seconds) }

    /// The measurements to make; a name that is none is refused before.
    package var stages: [Stage] {
        guard let only else { return Stage.allCases.filter { $0 != .growth } }
        return only.split(separator: ",").compactMap { Stage(rawValue: String($0)) }
    }

    /// The loads of ``Stage/real``; a name that is none is refused before.
    package var realLoads: [RealLoad] {
        guard let loads else { return RealLoad.allCases }
        return loads.split(separator: ",").compactMap { RealLoad(rawValue: String($0)) }
    }

    /// Whether ``Stage/real`` also measures clients that do nothing but GETs: unless only loads are named.
    package var measuresFloor: Bool {
        loads?.split(separator: ",").contains { $0 == Self.floor } ?? true
    }

    /// Refuses what cannot be measured.
    package func validate() throws {
        guard (1...600).contains(seconds), (1...10_000_000).contains(watches),
            (0...10_000_000).contains(pending), (1...100_000).contains(rate),
            (1...10_000).contains(concurrency)
        else { throw ValidationError("a number is out of range; see --help") }
        for name in only?.split(separator: ",") ?? [] where Stage(rawValue: String(name)) == nil {
            throw ValidationError("there is no measurement \(name); see --help")
        }
        for name in loads?.split(separator: ",") ?? []
        where RealLoad(rawValue: String(name)) == nil && name != Self.floor {
            throw ValidationError("there is no load \(name); see --help")
        }
    }

    /// The same plan on a command line.
    package var arguments: [String] {
        var words = json ? ["--json"] : []
        for (name, text) in [("--only", only), ("--loads", loads), ("--save", save)] {
            if let text { words += [name, text] }
        }
        let numbers = [
            ("--seconds", seconds), ("--watches", watches), ("--pending", pending),
            ("--rate", rate), ("--concurrency", concurrency),
        ]
        for (name, number) in numbers { words += [name, String(number)] }
        return words
    }
}
