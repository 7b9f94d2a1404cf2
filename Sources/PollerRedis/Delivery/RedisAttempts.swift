package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import RedisClient

/// The attempts of deliveries, and their reduced form.
extension RedisDeliveryQueue {
    package func attempts(of id: DeliveryID) async throws(StoreError) -> [AttemptRecord] {
        guard id.partition < partitions else { return [] }
        for partition in redis.keys.map.descendants(of: id.partition) {
            let found = try await attempts(of: id.item.description, partition)
            if !found.isEmpty { return found }
        }
        return []
    }

    package func lastAttempts(
        of ids: [DeliveryID]
    ) async throws(StoreError) -> [DeliveryID: Timestamp] {
        let locations = ids.filter { $0.partition < partitions }.flatMap { id in
            redis.keys.map.descendants(of: id.partition).map { (id: id, partition: $0) }
        }
        guard !locations.isEmpty else { return [:] }
        let replies = try await redis.client.execute(
            locations.flatMap { location -> [RedisCommand] in
                let item = location.id.item.description
                return [
                    RedisCommand(
                        "HGET",
                        [
                            .string(redis.keys.item(item, location.partition)),
                            .string(String(ItemField.accepted.rawValue)),
                        ]
                    ),
                    RedisCommand(
                        "LINDEX",
                        [.string(redis.keys.attempts(of: item, location.partition)), -1]
                    ),
                ]
            }
        )
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        var last: [DeliveryID: Timestamp] = [:]
        for (location, index) in zip(locations, stride(from: 0, to: replies.count - 1, by: 2)) {
            let newest = replies[index + 1].bytes.flatMap(PackedAttempt.attempt)
            let accepted = AcceptedLine.attempts(replies[index].string ?? "").last
            if let at = (newest ?? accepted)?.at { last[location.id] = at }
        }
        return last
    }

    private func attempts(
        of item: String,
        _ partition: Int
    ) async throws(StoreError) -> [AttemptRecord] {
        let replies = try await redis.client.execute([
            RedisCommand(
                "HGET",
                [
                    .string(redis.keys.item(item, partition)),
                    .string(String(ItemField.accepted.rawValue)),
                ]
            ),
            RedisCommand(
                "LRANGE",
                [.string(redis.keys.attempts(of: item, partition)), 0, -1]
            ),
        ])
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        let entries = replies.last?.array ?? []
        return AcceptedLine.attempts(replies.first?.string ?? "")
            + entries.compactMap { $0.bytes.flatMap(PackedAttempt.attempt) }
    }

    package func trimAttempts(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            .trimAttempts,
            partition: partition,
            [
                RedisArgument(retention.ms), RedisArgument(RedisPartitions.chunk),
                RedisArgument(AcceptedLine.lengthMax),
            ]
        )
        return reply.int ?? 0 >= RedisPartitions.chunk
    }
}
