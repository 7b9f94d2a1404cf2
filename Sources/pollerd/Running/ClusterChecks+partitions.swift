import Poller
import PollerAPI
import PollerRedis

extension ClusterChecks {
    /// Whether the store is being given more partitions, and what stands still for it.
    static func partitions(_ cluster: Cluster) async throws(StoreError) -> HealthResult {
        result(of: try await RedisRepartition.standing(cluster.layout, on: cluster.client))
    }

    static func result(of standing: SplitStanding) -> HealthResult {
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
