import Poller
import PollerAPI
import PollerIdentity
import PollerQueue
import PollerRedis

extension ClusterChecks {
    /// Checks whether the store is being repartitioned, and which partitions are stopped for it.
    static func partitions(_ cluster: Cluster) async throws(StoreError) -> HealthResult {
        let standing = try await RedisRepartition.standing(cluster.layout, on: cluster.client)
        return result(of: standing, to: cluster.layout)
    }

    /// Returns the result for a process that uses `layout`.
    private static func result(
        of standing: SplitStanding,
        to layout: StoreLayout
    ) -> HealthResult {
        switch standing.layout {
        case .fits: break
        case .missing:
            return HealthResult(
                .failed,
                "the store has no layout: it was emptied or replaced by an empty one while "
                    + "processes were running",
                action: "check again in ten seconds, after the processes have restored it; "
                    + "check that POLLER_REDIS_URL is correct"
            )
        case .other(let stored):
            return HealthResult(
                .failed,
                "the store has \(stored.text), but this process uses \(layout.text): an older "
                    + "copy may have replaced the store",
                action: "stop all processes of Poller, then start them again"
            )
        }
        let count = standing.partitions
        guard let former = standing.former else { return HealthResult(.ok, "\(count)") }
        let progress = "\(standing.split) of \(2 * former) partitions are split"
        if standing.isHeld {
            return HealthResult(.ok, "\(progress), pollerd repartition is running")
        }
        guard !standing.still.isEmpty else {
            return HealthResult(
                .warning,
                "\(progress), no process continues the repartitioning, and no partition is frozen",
                action: "pollerd repartition \(count)"
            )
        }
        let goesBack = standing.mayGoOn == standing.still.count
        return HealthResult(
            .failed,
            "polling, delivery and enqueueing are stopped in "
                + "\(standing.still.joined(separator: ", ")): "
                + "the process that was splitting it has ended",
            action: "run pollerd repartition \(count) to continue"
                + (goesBack ? ", or pollerd repartition --stop to reopen it undivided" : "")
        )
    }
}
