import ArgumentParser
import BenchPlan
import ChildPrograms
import Foundation

/// `pollerd bench`: replaces itself with `pollerd-bench`, which measures engine, whole path and publication.
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure this machine: enqueue, polls, due lag, publication, memory, CPU.",
        discussion: """
            Runs its own redis-server (with append-only file), stripe-sandbox and notifier, and the
            load generator as a separate process. If POLLER_REDIS_URL is set, it uses that database
            instead, which must be empty, and empties it afterwards. Build with -c release first.
            """
    )

    @OptionGroup var plan: BenchPlan

    @OptionGroup var flags: Flags

    /// Reads the configuration as every command does, because a file or flag may name the database.
    func run() async throws {
        let configuration = try flags.configuration()
        _ = try Settings(configuration)
        let program = try Programs.locate("pollerd-bench")
        if let redis = configuration.values["redis_url"], redis.origin != .standard {
            unsafe setenv("POLLER_REDIS_URL", redis.text, 1)
        } else {
            unsafe unsetenv("POLLER_REDIS_URL")
        }
        try Programs.replaceProcess(with: program, plan.arguments)
    }
}
