import ArgumentParser
import Foundation
import PollerIdentity
import PollerPlanning
import PollerWatches
import ProgramOutput
import SafeNumbers

/// `pollerd simulate`: estimates the GETs per source, the time until a change is known, and the cluster for it.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Plan capacity: GETs, detection time, cores and memory. Changes nothing.",
        discussion: """
            Runs the decision code of the workers in virtual time. Each source becomes final at a
            moment spread evenly over its lifetime and is detected when a poll observes it. Lane limits
            and the interval between sweeps are those of the configuration (lane_rate, lane_burst,
            stripe_sweep). If there are too many sources to run all, every n-th is run on an n-th
            of the lane.

            The second table is the cluster that this needs, from measured costs per unit (--costs):
            memory of Redis with the configured retention, masters and partitions, and cores and
            processes of each role. No process needs more than one core, even after one has died.
            If no number is enough, the table says "not possible". `ops/plan` compares such a plan
            cluster.
            """
    )

    @ArgumentParser.Option(help: "How long sources may stay pending, separated by commas.")
    var lives = "1h,7d"

    @ArgumentParser.Option(
        help: """
            Sources created in 30 days by all accounts, separated by commas \
            (default: 10,100,1000,10000,100000,1000000).
            """
    )
    var sources: String?

    @ArgumentParser.Option(help: "The load in payments per second, instead of --sources.")
    var payments: String?

    @ArgumentParser.Option(
        help: "Policy: interactive, standard or patient. Default: standard to 1d, then patient."
    )
    var policy: String?

    @ArgumentParser.Option(help: "Average delay of a webhook.")
    var webhookDelay = "2s"

    @ArgumentParser.Option(help: "Percentage of webhooks that are lost.")
    var webhookLoss = 1.0

    @ArgumentParser.Option(help: "Maximum number of sources in one run. More sources take longer.")
    var sample = PlannedMonth.sourcesMax

    @OptionGroup var load: SimulatedLoad

    @ArgumentParser.Flag(help: "Print the cost of each unit and the command that measured it.")
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
            else { throw ValidationError("--lives: \(text) is not a duration from 1s to 90d") }
            return span
        }
    }

    private func counts() throws -> [Int] {
        guard let payments else {
            return try (sources ?? "10,100,1000,10000,100000,1000000").split(separator: ",").map {
                guard let count = Int(decimal: $0), Self.countsAllowed.contains(count) else {
                    throw ValidationError("--sources: \($0) is not a number from 1 to 100000000000")
                }
                return count
            }
        }
        guard sources == nil else { throw ValidationError("use --sources or --payments, not both") }
        return try payments.split(separator: ",").map {
            guard let rate = Double($0), (0.000_001...38_000).contains(rate) else {
                throw ValidationError("--payments: \($0) is not a number from 0.000001 to 38000")
            }
            return max(1, Int(saturating: (rate * PlannedTraffic.month.inSeconds).rounded()))
        }
    }

    /// Up to some 38,000 payments a second.
    private static let countsAllowed = 1...100_000_000_000

    private func webhook() throws -> Duration {
        guard let span = Duration(text: webhookDelay), span <= .seconds(86_400) else {
            throw ValidationError("--webhook-delay must be a duration such as 2s")
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
