import Logging
package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import RedisClient
import SafeNumbers

/// The outbox: one stream per partition, read by the consumer group `notifier`.
package struct RedisOutbox: Outbox {
    let redis: RedisPartitions
    /// The positions at which taking over abandoned entries continues.
    private let takeOvers = OutboxTakeOvers()

    /// Creates the outbox of a cluster.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    package var partitions: Int { redis.keys.partitions }

    package var basePartitions: Int { redis.keys.map.base }

    private static var group: RedisArgument { .string(OutboxGroup.notifier.rawValue) }

    package func read(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> OutboxRead {
        let stream = RedisArgument.string(redis.keys.outbox(partition))
        let name = RedisArgument.string(consumer.description)
        let read = RedisCommand(
            "XREADGROUP",
            ["GROUP", Self.group, name, "COUNT", RedisArgument(limit), "STREAMS", stream, ">"]
        )
        // Only ids: an entry that may end its reader is decoded only where deaths are counted (PoisonGuard).
        func takeOver(from start: String, _ count: Int) -> RedisCommand {
            RedisCommand(
                "XAUTOCLAIM",
                [
                    stream, Self.group, name, RedisArgument(idle.ms), .string(start), "COUNT",
                    RedisArgument(count), "JUSTID",
                ]
            )
        }
        let start = takeOvers.start(in: partition)
        let abandonedMax = min(limit, OutboxRead.abandonedMax)
        // Before the read, because the call looks at each pending entry, also at those that are only just read.
        let replies = try await redis.client.execute([takeOver(from: start, abandonedMax), read])
        if replies.contains(where: { $0.error?.code == "NOGROUP" }) {
            _ = try await redis.run(.outboxGroup, partition: partition, [])
            return try await self.read(
                partition: partition,
                consumer: consumer,
                idle: idle,
                limit: limit
            )
        }
        for reply in replies {
            if let error = reply.error { throw StoreError(.reply(error)) }
        }
        guard let left = replies.first, let unread = replies.last, replies.count == 2 else {
            throw .corrupt("a pipeline of two commands has \(replies.count) replies")
        }
        let cursor = left.array?.first?.string
        takeOvers.resume(from: cursor, in: partition)
        var abandoned = Self.abandoned(left)
        // After the newest entry, the call continues with the oldest.
        if cursor == OutboxTakeOvers.oldest, start != cursor, abandoned.count < abandonedMax {
            let rest = abandonedMax - abandoned.count
            let reply = try await redis.client.execute(takeOver(from: OutboxTakeOvers.oldest, rest))
            takeOvers.resume(from: reply.array?.first?.string, in: partition)
            abandoned = Self.abandoned(reply) + abandoned
        }
        let fresh = unread.array?.first?.array?.last?.array ?? []
        // An event is not delivered while a failover could still lose it: entries that were read must be on replicas
        // first. Until then they stay assigned to this notifier and unacknowledged, and are read again after `idle`.
        if let newest = fresh.last?.array?.first?.string {
            try await redis.confirm(partition: partition, entry: newest)
        }
        // If Redis stood still for `idle` before the last command, it returns entries that were just read as abandoned.
        var taken = Set(fresh.compactMap { $0.array?.first?.string })
        abandoned = abandoned.filter { taken.insert($0).inserted }
        let entries = try await decoded(
            fresh.compactMap(OutboxRecord.init),
            partition: partition
        )
        return OutboxRead(fresh: entries, freshCount: fresh.count, abandoned: abandoned)
    }

    package func handedOver(
        partition: Int,
        _ ids: [String]
    ) async throws(StoreError) -> [OutboxEntry] {
        guard !ids.isEmpty else { return [] }
        let stream = RedisArgument.string(redis.keys.outbox(partition))
        let replies = try await redis.client.execute(
            ids.map { RedisCommand("XRANGE", [stream, .string($0), .string($0)]) }
        )
        var records: [OutboxRecord] = []
        for reply in replies {
            if let error = reply.error { throw StoreError(.reply(error)) }
            records += (reply.array ?? []).compactMap(OutboxRecord.init)
        }
        return try await decoded(records, partition: partition)
    }

    /// Returns the entries of records assigned to a consumer, and acknowledges those that are not understood.
    private func decoded(
        _ records: [OutboxRecord],
        partition: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        let entries = try await self.entries(
            records,
            partition: partition,
            isConfirmed: redis.durability != nil
        )
        let known = Set(entries.map(\.id))
        let unreadable = records.filter { !known.contains($0.id) }
        if !unreadable.isEmpty {
            let ids = unreadable.map(\.id)
            // A batch may have hundreds of them.
            let shown = unreadable.prefix(10)
            redis.logger.error(
                "outbox entries gone or not understood",
                metadata: [
                    "count": "\(ids.count)", "ids": "\(shown.map(\.id))",
                    "events": "\(shown.map { "\($0.item) \($0.seq)" })",
                ]
            )
            // Otherwise they would be read again forever and prevent the trimming of all later entries.
            try await acknowledge(partition: partition, ids)
        }
        return entries
    }

    /// Returns the ids in a reply of XAUTOCLAIM.
    private static func abandoned(_ reply: RedisValue) -> [String] {
        let ids = reply.array.flatMap { $0.count > 1 ? $0[1].array : nil } ?? []
        return ids.compactMap(\.string)
    }

    package func hold(
        partition: Int,
        consumer: OwnerID,
        _ entries: [PendingEntry]
    ) async throws(StoreError) -> Set<String> {
        guard !entries.isEmpty else { return [] }
        let reply = try await redis.run(
            .outboxHold,
            partition: partition,
            [.string(consumer.description)]
                + entries.flatMap { entry -> [RedisArgument] in
                    [.string(entry.id), .string(entry.position?.description ?? "")]
                }
        )
        return Set((reply.array ?? []).compactMap(\.string))
    }

    package func positions(
        partition: Int,
        of ids: [String]
    ) async throws(StoreError) -> [String: FanOutPosition] {
        guard !ids.isEmpty else { return [:] }
        let key = RedisArgument.string(redis.keys.fanOuts(partition))
        let reply = try await redis.client.execute(
            RedisCommand("HMGET", [key] + ids.map { .string($0) })
        )
        // A position in the format of another release is ignored: all deliveries are marked again.
        let positions = (reply.array ?? []).map { $0.string.flatMap(FanOutPosition.init) }
        return Dictionary(zip(ids, positions)) { first, _ in first }.compactMapValues(\.self)
    }

    package func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {
        guard !ids.isEmpty else { return }
        let names = ids.map { RedisArgument.string($0) }
        let stream = RedisArgument.string(redis.keys.outbox(partition))
        let positions = RedisArgument.string(redis.keys.fanOuts(partition))
        let replies = try await redis.client.execute([
            RedisCommand("XACK", [stream, Self.group] + names),
            RedisCommand("HDEL", [positions] + names),
        ])
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
    }

    package func acknowledgedUntil(partition: Int) async throws(StoreError) -> Timestamp {
        let reply = try await redis.run(.outboxAcknowledged, partition: partition, [])
        guard let ms = reply.string.flatMap({ Int64(safe: $0) }) else {
            throw .corrupt("outbox_acknowledged.lua answered \(reply)")
        }
        return Timestamp(ms: ms)
    }

    package func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        var found: [OutboxEntry] = []
        var position = position
        // Events that have left their log are skipped: a short page is the last one.
        while found.count < limit {
            let wanted = limit - found.count
            let reply = try await redis.client.execute(
                RedisCommand(
                    "XRANGE",
                    [
                        .string(redis.keys.outbox(partition)), .string("(\(position)"), "+",
                        "COUNT", RedisArgument(wanted),
                    ]
                )
            )
            let records = (reply.array ?? []).compactMap(OutboxRecord.init)
            found += try await entries(records, partition: partition)
            guard records.count == wanted, let last = records.last else { break }
            position = last.id
        }
        return found
    }

    /// Returns the entries of stream records, without those whose event is gone.
    private func entries(
        _ records: [OutboxRecord],
        partition: Int,
        isConfirmed: Bool = false
    ) async throws(StoreError) -> [OutboxEntry] {
        let logged = try await recorded(records.map(\.named), isConfirmed: isConfirmed)
        return zip(records, logged).compactMap { record, answer in
            record.entry(partition, logged: answer)
        }
    }

    /// The number of events in one reply of outbox_events.lua, as an event may have 128 KiB and other clients wait.
    private static var recordedMax: Int { 128 }

    /// Returns the replies of outbox_events.lua for events in their items' logs, one for each.
    ///
    /// An item may have moved to another partition than the outbox that refers to it.
    func recorded(
        _ named: [RecordedEvent],
        isConfirmed: Bool = false
    ) async throws(StoreError) -> [RedisValue] {
        var logged = [RedisValue](repeating: .null, count: named.count)
        try await redis.run(
            isConfirmed ? .outboxEventsConfirmed : .outboxEvents,
            for: named.map(\.lane),
            most: Self.recordedMax,
            isDurable: isConfirmed
        ) { group in
            group.flatMap { [.string(named[$0].item), RedisArgument(named[$0].seq)] }
        } _: { group, reply throws(StoreError) in
            guard let found = reply.array, found.count == group.count else {
                throw .corrupt("outbox_events.lua answered \(reply)")
            }
            for (index, answer) in zip(group, found) { logged[index] = answer }
        }
        return logged
    }

    package func trim(partition: Int, retention: Duration) async throws(StoreError) {
        var hasMore = true
        while hasMore {
            let reply = try await redis.run(
                .trim,
                partition: partition,
                [RedisArgument(retention.ms), RedisArgument(Self.trimmedMax)]
            )
            guard let dropped = reply.int else { throw .corrupt("trim.lua answered \(reply)") }
            hasMore = dropped >= Self.trimmedMax / 2
        }
    }

    /// The number of entries dropped by one call: a few milliseconds of Redis.
    private static var trimmedMax: Int { 10_000 }

    package func arrivals() -> AsyncStream<Int?> {
        redis.partitionUpdates(on: redis.keys.recordedChannel)
    }
}
