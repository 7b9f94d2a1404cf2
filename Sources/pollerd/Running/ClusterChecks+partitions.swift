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
                "the store has no layout: it was emptied, or an empty one took its place, under "
                    + "running processes",
                action: "look again in ten seconds, when they have written it back; is "
                    + "POLLER_REDIS_URL right?"
            )
        case .other(let stored):
            return HealthResult(
                .failed,
                "the store has \(stored.text), and this process works by \(layout.text): an older "
                    + "copy took its place",
                action: "stop every process of Poller, then start them again"
            )
        }
        let count = standing.partitions
        guard let former = standing.former else { return HealthResult(.ok, "\(count)") }
        let progress = "\(standing.split) of \(2 * former) partitions are split"
        if standing.isHeld {
            return HealthResult(.ok, "\(progress), pollerd repartition is at work")
        }
        guard !standing.still.isEmpty else {
            return HealthResult(
                .warning,
                "\(progress), nobody goes on with it, and nothing stands still for it",
                action: "pollerd repartition \(count)"
            )
        }
        let goesBack = standing.mayGoOn == standing.still.count
        return HealthResult(
            .failed,
            "nothing is polled, told or accepted in \(standing.still.joined(separator: ", ")): "
                + "whoever split it has stopped",
            action: "pollerd repartition \(count) goes on"
                + (goesBack ? "; pollerd repartition --stop lets it go on as it was" : "")
        )
    }
}
