import Poller
import RedisClient

extension RedisQueue {
    /// Lanes one call of stats.lua looks at: about two milliseconds of Redis.
    private static var statsLanes: Int { 500 }

    /// Counts for operators, over all partitions.
    func stats() async throws(StoreError) -> StoreStats {
        var total = StoreStats()
        for partition in 0..<keys.partitions {
            var first = 0
            repeat {
                let counts = try await run(
                    scripts.stats,
                    partition: partition,
                    [RedisArgument(first), RedisArgument(Self.statsLanes)]
                ).array?.compactMap(\.int)
                guard let counts, counts.count == 13 else { throw .corrupt("stats.lua") }
                total += StoreStats(
                    pending: counts[0],
                    overdue: counts[1],
                    leased: counts[2],
                    closed: counts[3],
                    outbox: counts[4],
                    undelivered: counts[5],
                    lanes: counts[6],
                    quarantined: counts[7],
                    oldestDue: counts[8] < 0 ? nil : Timestamp(ms: Int64(counts[8])),
                    lanesPaused: counts[9],
                    lanesHeld: counts[10],
                    circuitsOpen: counts[11]
                )
                first = counts[12]
            } while first >= 0
        }
        return total
    }
}
