package import PollerDeliveries
package import PollerQueue
import RedisClient

/// The ends of the partitions of the outbox.
extension RedisOutbox {
    package func bounds() async throws(StoreError) -> [OutboxBounds] {
        try await bounds(of: 0..<partitions)
    }

    package func reachableBounds() async throws(StoreError) -> [OutboxBounds?] {
        if let all = await bounds(within: 0..<partitions) { return all }
        // An unavailable master does not hide the bounds of the others.
        let found = await withTaskGroup(of: (Int, OutboxBounds?).self) { group in
            for partition in 0..<partitions {
                group.addTask {
                    (partition, await bounds(within: partition..<partition + 1)?.first)
                }
            }
            return await group.reduce(into: [OutboxBounds?](repeating: nil, count: partitions)) {
                $0[$1.0] = $1.1
            }
        }
        // If nothing can be read, this call throws the reason.
        guard found.contains(where: { $0 != nil }) else { return try await bounds() }
        return found
    }

    /// How long a partition is waited for before it counts as unavailable.
    private static var boundsTimeout: Duration { .seconds(1) }

    /// Returns the ends of partitions; `nil` if they cannot be read in time.
    private func bounds(within partitions: Range<Int>) async -> [OutboxBounds]? {
        await withTaskGroup(of: [OutboxBounds]?.self) { group in
            group.addTask { try? await bounds(of: partitions) }
            group.addTask {
                // Cancelled when the bounds have been read.
                try? await Task.sleep(for: Self.boundsTimeout)
                return nil
            }
            let found = await group.next() ?? nil
            group.cancelAll()
            return found
        }
    }

    private func bounds(of partitions: Range<Int>) async throws(StoreError) -> [OutboxBounds] {
        let commands = partitions.flatMap { partition -> [RedisCommand] in
            let stream = RedisArgument.string(redis.keys.outbox(partition))
            return [
                RedisCommand("XRANGE", [stream, "-", "+", "COUNT", 1]),
                RedisCommand("XREVRANGE", [stream, "+", "-", "COUNT", 1]),
                RedisCommand(
                    "HMGET",
                    [
                        .string(redis.keys.meta(partition)), .string(MetaField.trimmed.rawValue),
                        .string(MetaField.newestSetAside.rawValue),
                    ]
                ),
            ]
        }
        let replies = try await redis.client.execute(commands)
        // A partition that cannot be read is not an empty one.
        for reply in replies {
            if let error = reply.error { throw StoreError(.reply(error)) }
        }
        func id(_ reply: RedisValue) -> String? {
            reply.array?.first?.array?.first?.string
        }
        return stride(from: 0, to: replies.count, by: 3).map { at in
            let noted = (replies[at + 2].array ?? []).map {
                $0.string.flatMap { OutboxPosition($0) }
            }
            let trimmed = noted.first.flatMap(\.self) ?? .start
            // An entry that was set aside was recorded, too, and readers may have reached it.
            let ends = [id(replies[at + 1]).flatMap { OutboxPosition($0) }] + noted
            return OutboxBounds(
                oldest: id(replies[at]) ?? "0-0",
                newest: (ends.compactMap(\.self).max() ?? .start).description,
                trimmed: trimmed.description
            )
        }
    }
}
