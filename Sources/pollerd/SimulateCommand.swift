import ArgumentParser
import Foundation
import Poller

/// `pollerd simulate`: how many GETs a source will cost, and how soon its changes are known.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Plan capacity: GETs and time to know, without touching anything.",
        discussion: """
            Runs the deciding code of the workers over virtual time: each source becomes final at a
            moment spread evenly over its life, and is known when a poll sees it. Lane limits and
            the pause between sweeps are those of the configuration (lane_rate, lane_burst,
            stripe_sweep). Where there are too many sources to run them all, every n-th is run on an
            n-th of the lane.
            """
    )

    @ArgumentParser.Option(help: "How long sources may stay pending, by commas.")
    var lives = "1h,7d"

    @ArgumentParser.Option(help: "Sources that begin in thirty days, by commas.")
    var sources = "10,100,1000,10000,100000,1000000"

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
        let settings = try Settings(flags.configuration())
        var interval: Duration?
        if case .every(let span) = settings.stripeSweep { interval = span }
        let all = PlannedTraffic.Hints.allCases
        let hints = settings.stripeSweep == .off ? all.filter { $0 == .none } : all
        var outcomes: [PlannedOutcome] = []
        for life in try spans() {
            for count in try counts() {
                for hint in hints {
                    let traffic = PlannedTraffic(
                        sourcesPerMonth: count,
                        life: life,
                        policy: try parsedPolicy(),
                        hints: hint,
                        lane: settings.lane,
                        sweepInterval: interval,
                        webhookDelay: try webhook(),
                        webhookLoss: webhookLoss / 100
                    )
                    let chance = SystemRandomNumberGenerator()
                    var month = PlannedMonth(traffic, sourcesMax: sample, using: chance)
                    outcomes.append(month.run())
                }
            }
        }
        print(json ? try Self.json(outcomes) : Self.table(outcomes))
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
        try sources.split(separator: ",").map { text in
            guard let count = Int(text), (1...1_000_000_000).contains(count) else {
                throw ValidationError("--sources: \(text) is no number from 1 to 1000000000")
            }
            return count
        }
    }

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

    private static func json(_ outcomes: [PlannedOutcome]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        return String(decoding: try encoder.encode(["runs": outcomes]), as: UTF8.self)
    }

    private static func table(_ outcomes: [PlannedOutcome]) -> String {
        let head = [
            "LIFE", "POLICY", "SOURCES/30d", "OPEN", "WHO TELLS", "GETs/SOURCE", "OF THEM SWEEPS",
            "KNOWN p50", "p99", "UNSEEN", "POLLS/s", "ALLOWANCE", "STRETCH",
        ]
        let rows = outcomes.map { outcome in
            [
                Duration.seconds(Int64(outcome.lifeSeconds)).text, outcome.policy,
                "\(outcome.sourcesPerMonth)", number(outcome.open), outcome.hints,
                number(outcome.getsPerSource), number(outcome.sweepsPerSource),
                seconds(outcome.knownMedianSeconds), seconds(outcome.known99Seconds),
                number(outcome.unseen * 100) + " %", number(outcome.pollsPerSecond),
                number(outcome.allowanceUsed * 100) + " %", number(outcome.stretch),
            ]
        }
        let widths = head.indices.map { column in
            ([head] + rows).map { $0[column].count }.max() ?? 0
        }
        return ([head] + rows).map { row in
            zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Three digits that count.
    private static func number(_ value: Double) -> String {
        value >= 100
            ? "\(Int(value.rounded()))" : String(format: value >= 10 ? "%.1f" : "%.2f", value)
    }

    private static func seconds(_ value: Double?) -> String {
        value.map { number($0) + " s" } ?? "–"
    }
}
