import ArgumentParser
import Foundation
import Poller
import PollerIdentity
import ProgramOutput
import SafeNumbers

/// `pollerd simulate`: estimates the GETs per source, the time until a change is known, and the cluster for it.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Plan capacity: GETs, time to know, cores and memory, without touching anything.",
        discussion: """
            Runs the deciding code of the workers over virtual time: each source becomes final at a
            moment spread evenly over its life, and is known when a poll sees it. Lane limits and
            the pause between sweeps are those of the configuration (lane_rate, lane_burst,
            stripe_sweep). Where there are too many sources to run them all, every n-th is run on an
            n-th of the lane.

            The second table is the cluster for it, by what units were measured to cost (--costs):
            memory of Redis with the retention of the configuration, masters and partitions, and
            cores and processes of each role: as many as fill a core each at most when one has died,
            or "not possible" where no number does. `ops/plan` holds such a plan against a real
            cluster.
            """
    )

    @ArgumentParser.Option(help: "How long sources may stay pending, by commas.")
    var lives = "1h,7d"

    @ArgumentParser.Option(
        help: """
            Sources that begin in thirty days, of all accounts, by commas \
            (default: 10,100,1000,10000,100000,1000000).
            """
    )
    var sources: String?

    @ArgumentParser.Option(help: "The same as payments a second.")
    var payments: String?

    @ArgumentParser.Option(
        help: "interactive, standard or patient; by default standard up to a day, then patient."
    )
    var policy: String?

    @ArgumentParser.Option(help: "How long a webhook takes on average.")
    var webhookDelay = "2s"

    @ArgumentParser.Option(help: "Webhooks in a hundred that never come.")
    var webhookLoss = 1.0

    @ArgumentParser.Option(help: "Sources of one run at most; more of them take longer.")
    var sample = PlannedMonth.sourcesMax

    @OptionGroup var load: SimulatedLoad

    @ArgumentParser.Flag(help: "Print what each unit costs and which command measured it.")
    var costs = false

    @ArgumentParser.Flag(help: "Print one JSON object instead of a table.")
    var json = false

    @OptionGroup var flags: Flags

    func validate() throws {
        _ = try spans()
        _ = try counts()
        _ = try webhook()
        guard (0...100).contains(webhookLoss), (100...1_000_000).contains(sample) else {
            throw ValidationError("--webhook-loss is 0 to 100, --sample 100 to 1000000")
        }
        _ = try parsedPolicy()
    }

    func run() async throws {
        if costs { return StandardStreams.printLine(json ? try Self.costsJSON() : Self.costsTable) }
        let settings = try Settings(flags.configuration())
        let load = try load.planned(settings)
        var interval: Duration?
        if case .every(let span) = settings.stripeSweep { interval = span }
        let all = PlannedTraffic.Hints.allCases
        let hints = settings.stripeSweep == .off ? all.filter { $0 == .none } : all
        var runs: [SimulatedRun] = []
        for life in try spans() {
            for count in try counts() {
                for hint in hints {
                    let traffic = PlannedTraffic(
                        sourcesPerMonth: max(1, count / load.accounts),
                        life: life,
                        policy: try parsedPolicy(),
                        hints: hint,
                        lane: settings.lane,
                        sweepInterval: interval,
                        webhookDelay: try webhook(),
                        webhookLoss: webhookLoss / 100
                    )
                    runs.append(SimulatedRun(traffic, sample: sample, load))
                }
            }
        }
        StandardStreams.printLine(
            json
                ? try Self.json(["runs": runs])
                : Self.months(runs) + "\n\n" + Self.clusters(runs)
        )
    }

    private func spans() throws -> [Duration] {
        try lives.split(separator: ",").map { text in
            guard let span = Duration(text: String(text)), span >= .seconds(1),
                span <= .seconds(90 * 86_400)
            else { throw ValidationError("--lives: \(text) is no span from 1s to 90d") }
            return span
        }
    }

    private func counts() throws -> [Int] {
        guard let payments else {
            return try (sources ?? "10,100,1000,10000,100000,1000000").split(separator: ",").map {
                guard let count = Int(decimal: $0), Self.countsAllowed.contains(count) else {
                    throw ValidationError("--sources: \($0) is no number from 1 to 100000000000")
                }
                return count
            }
        }
        guard sources == nil else { throw ValidationError("--sources or --payments, not both") }
        return try payments.split(separator: ",").map {
            guard let rate = Double($0), (0.000_001...38_000).contains(rate) else {
                throw ValidationError("--payments: \($0) is no number from 0.000001 to 38000")
            }
            return max(1, Int(saturating: (rate * PlannedTraffic.month.inSeconds).rounded()))
        }
    }

    /// Up to some 38,000 payments a second.
    private static let countsAllowed = 1...100_000_000_000

    private func webhook() throws -> Duration {
        guard let span = Duration(text: webhookDelay), span <= .seconds(86_400) else {
            throw ValidationError("--webhook-delay is a span such as 2s")
        }
        return span
    }

    private func parsedPolicy() throws -> PollPolicy? {
        do throws(InvalidInput) {
            return try policy.map { name throws(InvalidInput) in try PollPolicy(named: name) }
        } catch {
            throw ValidationError("--policy \(error.message)")
        }
    }
}
