import PollerAPI
import PollerIdentity
import PollerQueue
import PollerRedis

extension ClusterChecks {
    /// Checks whether the store is being repartitioned, and which partitions are stopped for it.
    static func partitions(_ cluster: Cluster) async throws(StoreError) -> HealthResult {
        let status = try await RedisRepartition.status(cluster.layout, on: cluster.client)
        return result(of: status, to: cluster.layout)
    }

    /// Returns the result for a process that uses `layout`.
    private static func result(
        of status: RepartitionStatus,
        to layout: StoreLayout
    ) -> HealthResult {
        switch status.layout {
        case .fits: break
        case .missing:
            return .failed(
                "the store has no layout: it was emptied or replaced by an empty one while "
                    + "processes were running",
                action: "check again in ten seconds, after the processes have restored it; "
                    + "check that POLLER_REDIS_URL is correct"
            )
        case .other(let stored):
            return .failed(
                "the store has \(stored.text), but this process uses \(layout.text): an older "
                    + "copy may have replaced the store",
                action: "stop all processes of Poller, then start them again"
            )
        }
        let count = status.partitions
        guard let former = status.former else { return .ok("\(count)") }
        let progress = "\(status.split) of \(2 * former) partitions are split"
        if status.isRunning { return .ok("\(progress), pollerd repartition is running") }
        guard !status.stoppedPartitions.isEmpty else {
            return .warning(
                "\(progress), no process continues the repartitioning, and no partition is frozen",
                action: "pollerd repartition \(count)"
            )
        }
        let goesBack = status.resumable == status.stoppedPartitions.count
        return .failed(
            "polling, delivery and enqueueing are stopped in "
                + "\(status.stoppedPartitions.joined(separator: ", ")): "
                + "the process that was splitting it has ended",
            action: "run pollerd repartition \(count) to continue"
                + (goesBack ? ", or pollerd repartition --stop to reopen it undivided" : "")
        )
    }
}
