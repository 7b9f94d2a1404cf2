import ArgumentParser
import BenchPlan
import ChildPrograms
import Foundation
import Logging
import PollerNet
import RedisClient

/// `pollerd-bench`: the program that `pollerd bench` runs after reading its options.
///
/// *Limits*: one run at a time on a machine, because two would affect each other's measurements.
@main
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pollerd-bench",
        abstract: "Measure this machine, as `pollerd bench` does.",
        discussion: """
            POLLER_REDIS_URL names an empty database to use instead of a redis-server of its own;
            `pollerd bench` takes it from flags and files, too.
            """,
        subcommands: [ClientBenchCommand.self, SubscriberCommand.self]
    )

    @OptionGroup var plan: BenchPlan

    static func main() async {
        OpenFiles.raiseLimit()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as ProgramError {
            SignalledEnd.awaitIfEnding()
            FileHandle.standardError.write(Data("pollerd: \(error)\n".utf8))
            Foundation.exit(78)  // EX_CONFIG of sysexits.h
        } catch {
            SignalledEnd.awaitIfEnding()
            exit(withError: error)
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = .error
            return handler
        }
        SignalledEnd.listen()
        let named = ProcessInfo.processInfo.environment["POLLER_REDIS_URL"] ?? ""
        let redis = named.isEmpty ? try EmbeddedRedis(dataFolder: nil) : nil
        defer { redis?.stop() }
        let sandbox = try EmbeddedSandbox()
        defer { sandbox.stop() }

        let text = redis?.url ?? named
        let progress: @Sendable (String) -> Void = { text in
            FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
        }
        let run = BenchRun(
            redisURL: text,
            sandboxURL: "http://127.0.0.1:\(try sandbox.port())",
            plan: plan,
            logger: Logger(label: "bench"),
            progress: progress
        )
        let load = MachineLoad()
        if let warning = load?.warning { progress("warning: \(warning)") }
        var report = try await run.measure()
        if let load = load?.over(hasOwnRedis: redis != nil) {
            report.add("machine", load.report)
            if let warning = load.warning { progress("warning: \(warning)") }
        }
        let faults = report.faults
        guard faults.isEmpty else {
            print(plan.json ? report.json : report.table)
            throw BenchError("the figures are not valid: \(faults.joined(separator: "; "))")
        }
        if let file = plan.savedTo {
            try report.json.write(toFile: file, atomically: true, encoding: .utf8)
        }
        print(plan.json ? report.json : report.table)
    }
}
