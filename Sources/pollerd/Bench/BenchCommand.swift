import ArgumentParser
import Foundation
import Logging
import PollerBench
import RedisClient

/// `pollerd bench`: measures engine, whole path and publication on this machine.
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure this machine: enqueue, polls, due lag, publication, memory, CPU.",
        discussion: """
            Runs its own redis-server (append-only file on), stripe-sandbox and notifier, the load
            on them from this process. With POLLER_REDIS_URL set it uses that database
            instead, if it is empty, and empties it afterwards. Build with -c release first.
            """
    )

    @ArgumentParser.Flag(help: "Print one JSON object instead of a table.")
    var json = false

    @ArgumentParser.Option(help: "Seconds of each measurement.")
    var seconds = 5

    @ArgumentParser.Option(help: "Pending watches for enqueue rate and memory.")
    var watches = 100_000

    @ArgumentParser.Option(help: "Watches far in the future while lag and idleness are measured.")
    var pending = 100_000

    @ArgumentParser.Option(help: "Polls a second for due lag and publication latency.")
    var rate = 500

    @ArgumentParser.Option(help: "Polls in flight at once; a worker of its own has as many.")
    var concurrency = 256

    @ArgumentParser.Option(
        help: """
            Only these measurements, by commas: \
            \(BenchPlan.Stage.allCases.map(\.rawValue).joined(separator: ", ")).
            """
    )
    var only: String?

    @OptionGroup var flags: Flags

    func validate() throws {
        guard (1...600).contains(seconds), (1...10_000_000).contains(watches),
            (0...10_000_000).contains(pending), (1...100_000).contains(rate),
            (1...10_000).contains(concurrency)
        else { throw ValidationError("a number is out of range; see --help") }
        _ = try stages()
    }

    private func stages() throws -> [BenchPlan.Stage] {
        guard let only else { return BenchPlan.Stage.allCases }
        return try only.split(separator: ",").map { name in
            guard let stage = BenchPlan.Stage(rawValue: String(name)) else {
                throw ValidationError("there is no measurement \(name); see --help")
            }
            return stage
        }
    }

    func run() async throws {
        let configuration = try flags.configuration()
        let settings = try Settings(configuration)
        LoggingSystem.bootstrap { label in
            LineLogHandler(label: label, format: .text, level: .error)
        }
        let given = configuration.values["redis_url"].flatMap { value in
            value.origin == .standard ? nil : value.text
        }
        let redis = given == nil ? try EmbeddedRedis(dataFolder: nil) : nil
        defer { redis?.stop() }
        let sandbox = try await SandboxProcess()
        defer { sandbox.stop() }

        let text = redis?.url ?? given ?? ""
        let url = try redis.map { try RedisURL($0.url) } ?? settings.redisURL
        let run = BenchRun(
            redisURL: url,
            sandboxURL: sandbox.url,
            plan: BenchPlan(
                span: .seconds(seconds),
                watches: watches,
                pending: pending,
                rate: rate,
                concurrency: concurrency,
                stages: try stages()
            ),
            startNotifier: { try await NotifierProcess(redisURL: text) },
            logger: Logger(label: "bench"),
            progress: { text in
                FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
            }
        )
        let report = try await run.measure()
        print(json ? report.json : report.table)
    }
}
