package import PollerQueue
package import PollerWatches
import RedisClient

/// Reading the overdue watches of a lane.
extension RedisWatchStore {
    /// The most watches of one list: a page of a hundred, and one to detect more.
    private static var overdueMax: Int { 101 }

    package func overdue(in lane: LaneID, limit: Int) async throws(StoreError) -> [OverdueWatch] {
        guard let now = try await self.lane(lane)?.now else { return [] }
        let most = min(max(limit, 1), Self.overdueMax)
        return try await redis.retryingOnSplit { () throws(StoreError) in
            let partition = redis.keys.partition(of: lane.description)
            // Scores use the partition's own clock, so the due time comes from the record.
            let replies = try await redis.client.execute(
                [KeyKind.urgent, .normal].map { kind in
                    RedisCommand(
                        "ZRANGE",
                        [
                            .string(redis.keys.list(kind, lane.description, partition)),
                            0, RedisArgument(most - 1),
                        ]
                    )
                }
            )
            if let error = replies.lazy.compactMap(\.error).first {
                throw StoreError(.reply(error))
            }
            let ids = replies.flatMap { $0.array ?? [] }
                .compactMap { $0.string.map(ItemID.init(unchecked:)) }
            return try await readItems(ids, partition: partition)
                .compactMap(\.self)
                .compactMap { read in
                    read.due.map { OverdueWatch(key: read.item.key, due: $0) }
                }
                .filter { $0.due <= now }
                .sorted { $0.due < $1.due }
        }
    }
}
