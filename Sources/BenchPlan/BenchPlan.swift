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
        /// WebSockets: memory, latency, and the way back after a crash.
        case live
    }

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
            Only these measurements, by commas: \
            \(Stage.allCases.map(\.rawValue).joined(separator: ", ")).
            """
    )
    private var only: String?

    /// The defaults.
    package init() {}

    /// How long each measurement takes.
    package var span: Duration { .seconds(seconds) }

    /// The measurements to make; a name that is none is refused before.
    package var stages: [Stage] {
        guard let only else { return Stage.allCases }
        return only.split(separator: ",").compactMap { Stage(rawValue: String($0)) }
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
    }

    /// The same plan on a command line.
    package var arguments: [String] {
        (json ? ["--json"] : []) + (only.map { ["--only", $0] } ?? [])
            + [
                ("--seconds", seconds), ("--watches", watches), ("--pending", pending),
                ("--rate", rate), ("--concurrency", concurrency),
            ].flatMap { [$0, String($1)] }
    }
}
