import ArgumentParser
import Foundation
import Logging
import PollerIdentity
import PollerQueue
import PollerRedis
import ProgramOutput
import RedisClient

/// `pollerd repartition`: gives the store more partitions while the cluster works.
struct Repartition: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Increase the number of partitions so that more masters can share the work.",
        discussion: """
            The number grows to a multiple of the current one. First every process must be restarted, one after \
            the other, so that it knows the new partitions: the command lists them and waits. Then one partition after \
            the other is split: closed watches are copied while it works, then its open watches wait until its \
            leases are committed and the rest is copied. If a step fails, the partition continues undivided. It may be \
            killed at any time: run it again to resume, or with --stop to reopen frozen partitions \
            undivided. Make a backup first: the number cannot be decreased.
            """
    )

    @ArgumentParser.Argument(help: "New number of partitions. Default: print the current state.")
    var partitions: Int?

    @ArgumentParser.Option(help: "How long to wait for processes that must be restarted.")
    var wait = "15m"

    @Flag(help: "Reopen partitions that a killed run left frozen, undivided, and split nothing.")
    var stop = false

    @OptionGroup var flags: Flags

    /// The duration of the lock.
    ///
    /// After a crash, another command waits at most this long.
    private static let hold = Duration.seconds(30)
    private static let checkInterval = Duration.seconds(1)

    func run() async throws {
        guard let patience = Duration(text: wait) else {
            throw ValidationError("--wait must be a duration such as 15m or 0s")
        }
        try await Cluster.withStore(flags, as: "repartition") { cluster, settings, logger in
            if stop { return try await Self.stop(cluster, settings, logger) }
            guard let partitions else {
                return StandardStreams.printLine(
                    try await Self.status(cluster.layout, cluster.client)
                )
            }
            let layout: StoreLayout
            do {
                layout = try await RedisRepartition.begin(
                    cluster.layout,
                    partitions: partitions,
                    on: cluster.client
                )
            } catch let error as InvalidInput {
                throw ConfigurationError(error.message)
            }
            guard layout.former != nil else {
                let work = RedisRepartition(
                    client: cluster.client,
                    layout: layout,
                    durability: settings.durability,
                    owner: cluster.owner,
                    logger: logger
                )
                let opened = try await work.reopen()
                if opened > 0 {
                    StandardStreams.printLine("reopened \(opened) closed partitions")
                }
                return StandardStreams.printLine(try await Self.status(layout, cluster.client))
            }
            try await awaitProcesses(of: layout, cluster.members, for: patience)
            try await split(layout, cluster, settings, logger)
        }
    }

    private static func status(
        _ layout: StoreLayout,
        _ client: RedisClient
    ) async throws(StoreError) -> String {
        let status = try await RedisRepartition.status(layout, on: client)
        if status.layout == .missing { return "the store has no layout: it was just emptied" }
        guard let former = status.former else {
            return "the store has \(status.partitions) partitions"
        }
        var lines = [
            "the store is growing from \(former) to \(status.partitions) partitions; "
                + "\(status.split) of \(2 * former) are split; to continue: "
                + "pollerd repartition \(status.partitions)"
        ]
        lines += status.stoppedPartitions.map { "\($0) is frozen" }
        if status.isRunning { lines.append("another repartition is running, or has just ended") }
        return lines.joined(separator: "\n")
    }

    /// Waits until no other command holds the lock.
    ///
    /// The lock of a killed command expires.
    private static func waitForLock(_ work: RedisRepartition) async throws {
        var hasReported = false
        do {
            while try await !work.acquireLock(for: hold) {
                if !hasReported {
                    StandardStreams.printLine(
                        "another repartition is running, or has just ended: waiting"
                    )
                }
                hasReported = true
                try await Task.sleep(for: checkInterval)
            }
        } catch StoreError.full {
            throw ConfigurationError(
                "Redis has no memory left, so nothing was changed: give it more (maxmemory), "
                    + "then run this again"
            )
        }
    }

    /// Creates the splitter for a store with this layout.
    private static func work(
        on layout: StoreLayout,
        _ cluster: Cluster,
        _ settings: Settings,
        _ logger: Logger
    ) -> RedisRepartition {
        RedisRepartition(
            client: cluster.client,
            layout: layout,
            durability: settings.durability,
            owner: cluster.owner,
            logger: logger
        )
    }

    private static func stop(
        _ cluster: Cluster,
        _ settings: Settings,
        _ logger: Logger
    ) async throws {
        let work = Self.work(on: cluster.layout, cluster, settings, logger)
        try await waitForLock(work)
        let (freed, left) = try await work.stop()
        try await work.releaseLock()
        StandardStreams.printLine("\(freed) partitions were frozen and continue undivided")
        guard left > 0 else { return }
        throw ConfigurationError(
            "\(left) cannot be reopened because their items are already moving: run pollerd "
                + "repartition "
                + "\(cluster.layout.partitions), which needs no more memory for them"
        )
    }

    /// Waits until every live process uses the new number of partitions.
    private func awaitProcesses(
        of layout: StoreLayout,
        _ members: RedisMembership,
        for patience: Duration
    ) async throws {
        let end = ContinuousClock.now + patience
        var reportedProcesses: Set<String> = []
        while true {
            let behind = try await members.members()
                .filter { $0.partitions != layout.partitions }
                .map { "\($0.roles) on \($0.host), process \($0.pid)" }
            if behind.isEmpty { return }
            for process in behind where reportedProcesses.insert(process).inserted {
                StandardStreams.printLine("started before, to be restarted: \(process)")
            }
            guard ContinuousClock.now < end else {
                throw ConfigurationError(
                    "nothing has been moved yet: restart these processes, then run pollerd "
                        + "repartition "
                        + "\(layout.partitions) again"
                )
            }
            try await Task.sleep(for: Self.checkInterval)
        }
    }

    /// Retries while the store is unavailable or out of memory, so that a failover needs no operator.
    ///
    /// Meanwhile the partition stays in service undivided, unless its data is already moving out.
    private static func retryingWhileUnavailable(
        _ work: @Sendable () async throws -> RedisRepartition.Outcome?
    ) async throws -> RedisRepartition.Outcome? {
        while true {
            do {
                return try await work()
            } catch let error as StoreError {
                switch error {
                case .unavailable:
                    StandardStreams.printLine("\(error); retrying")
                    try await Task.sleep(for: checkInterval)
                case .full:
                    StandardStreams.printLine(
                        "a Redis server has no memory for the items that move to it: give it "
                            + "more (maxmemory), or end "
                            + "this command; nothing is frozen meanwhile, and it is retried in "
                            + "\(hold.text)"
                    )
                    try await Task.sleep(for: hold)
                case .corrupt(let reason): throw ConfigurationError(reason)
                default: throw error
                }
            }
        }
    }

    private func split(
        _ layout: StoreLayout,
        _ cluster: Cluster,
        _ settings: Settings,
        _ logger: Logger
    ) async throws {
        let work = Self.work(on: layout, cluster, settings, logger)
        try await Self.waitForLock(work)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    try await Task.sleep(for: Self.hold / 3)
                    // After the lock is lost, the store rejects every harmful step.
                    _ = try? await work.acquireLock(for: Self.hold)
                }
            }
            group.addTask {
                let former = layout.former ?? layout.partitions
                for queue in RedisRepartition.Queue.allCases {
                    for partition in 0..<former {
                        guard
                            let outcome = try await Self.retryingWhileUnavailable({
                                try await work.split(queue, partition)
                            })
                        else { continue }
                        StandardStreams.printLine(
                            "\(queue.rawValue) \(partition + 1)/\(former): \(outcome.items) "
                                + "items and "
                                + "\(outcome.lanes) lanes moved; nothing claimed for "
                                + "\(outcome.closed.text), "
                                + "nothing written for \(outcome.frozen.text)"
                        )
                    }
                }
                try await work.end()
                try await work.releaseLock()
            }
            // The end of the split, or the first error.
            try await group.next()
            group.cancelAll()
        }
        StandardStreams.printLine(
            "the store has \(layout.partitions) partitions; next: pollerd fsck"
        )
    }
}
