import Logging
package import Poller
import RedisClient

/// The outbox: one stream a partition, read by the consumer group `notifier`.
extension RedisWatchStore: Outbox {
    private static var group: RedisArgument { .string(OutboxGroup.notifier.rawValue) }

    package func unacknowledged(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        let stream = RedisArgument.string(redis.keys.outbox(partition))
        let name = RedisArgument.string(consumer.description)
        let read = RedisCommand(
            "XREADGROUP",
            ["GROUP", Self.group, name, "COUNT", RedisArgument(limit), "STREAMS", stream, ">"]
        )
        let takeOver = RedisCommand(
            "XAUTOCLAIM",
            [
                stream, Self.group, name, RedisArgument(idle.ms), "0", "COUNT",
                RedisArgument(limit),
            ]
        )
        let replies = try await redis.client.ask([read, takeOver])
        if replies.contains(where: { $0.error?.code == "NOGROUP" }) {
            _ = try await redis.run(redis.scripts[.outboxGroup], partition: partition, [])
            return try await unacknowledged(
                partition: partition,
                consumer: consumer,
                idle: idle,
                limit: limit
            )
        }
        for reply in replies {
            if let error = reply.error { throw StoreError(.reply(error)) }
        }
        let fresh = replies[0].array?.first?.array?.last?.array ?? []
        // An event is not told before a failover could no longer lose it: what was read is on
        // replicas first. Until then it stays ours and unacknowledged, and comes back after
        // `idle`.
        if let newest = fresh.last?.array?.first?.string {
            try await redis.confirm(partition: partition, entry: newest)
        }
        let abandoned = replies[1].array.flatMap { $0.count > 1 ? $0[1].array : nil } ?? []
        var entries: [OutboxEntry] = []
        var unreadable: [String] = []
        for value in abandoned + fresh {
            if let entry = OutboxRecord.entry(value, partition: partition) {
                entries.append(entry)
            } else if let id = value.array?.first?.string {
                unreadable.append(id)
            }
        }
        if !unreadable.isEmpty {
            // Kept, they would come back for ever and hold up the trimming of all that follow.
            redis.logger.error("outbox entries not understood", metadata: ["ids": "\(unreadable)"])
            try await acknowledge(partition: partition, unreadable)
        }
        return entries
    }

    package func hold(
        partition: Int,
        consumer: OwnerID,
        _ ids: [String]
    ) async throws(StoreError) {
        guard !ids.isEmpty else { return }
        let stream = RedisArgument.string(redis.keys.outbox(partition))
        let name = RedisArgument.string(consumer.description)
        let claim = [stream, Self.group, name, 0] + ids.map { .string($0) } + ["JUSTID"]
        _ = try await redis.client.ask(RedisCommand("XCLAIM", claim))
    }

    package func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {
        guard !ids.isEmpty else { return }
        let stream = RedisArgument.string(redis.keys.outbox(partition))
        _ = try await redis.client.ask(
            RedisCommand("XACK", [stream, Self.group] + ids.map { .string($0) })
        )
    }

    package func settled(partition: Int) async throws(StoreError) -> Timestamp {
        let reply = try await redis.run(redis.scripts[.settled], partition: partition, [])
        guard let ms = reply.string.flatMap({ Int64($0) }) else {
            throw .corrupt("settled.lua answered \(reply)")
        }
        return Timestamp(ms: ms)
    }

    package func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        let reply = try await redis.client.ask(
            RedisCommand(
                "XRANGE",
                [
                    .string(redis.keys.outbox(partition)), .string("(\(position)"), "+", "COUNT",
                    RedisArgument(limit),
                ]
            )
        )
        return (reply.array ?? []).compactMap { OutboxRecord.entry($0, partition: partition) }
    }

    package func bounds() async throws(StoreError) -> [OutboxBounds] {
        let commands = (0..<partitions).flatMap { partition -> [RedisCommand] in
            let stream = RedisArgument.string(redis.keys.outbox(partition))
            return [
                RedisCommand("XRANGE", [stream, "-", "+", "COUNT", 1]),
                RedisCommand("XREVRANGE", [stream, "+", "-", "COUNT", 1]),
                RedisCommand(
                    "HGET",
                    [
                        .string(redis.keys.meta(partition)), .string(MetaField.trimmed.rawValue),
                    ]
                ),
            ]
        }
        let replies = try await redis.client.ask(commands)
        func id(_ reply: RedisValue) -> String? {
            reply.array?.first?.array?.first?.string
        }
        return stride(from: 0, to: replies.count, by: 3).map { at in
            let trimmed = replies[at + 2].string ?? "0-0"
            return OutboxBounds(
                oldest: id(replies[at]) ?? "0-0",
                newest: id(replies[at + 1]) ?? trimmed,
                trimmed: trimmed
            )
        }
    }

    package func trim(partition: Int, retention: Duration) async throws(StoreError) {
        _ = try await redis.run(
            redis.scripts[.trim],
            partition: partition,
            [RedisArgument(retention.ms)]
        )
    }

    package func fade(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            redis.scripts[.fade],
            partition: partition,
            [RedisArgument(retention.ms), RedisArgument(RedisPartitions.chunk)]
        )
        return reply.int ?? 0 >= RedisPartitions.chunk
    }

    package func arrivals() -> AsyncStream<Int?> {
        redis.news(on: redis.keys.recordedChannel)
    }
}

/// An entry of the outbox stream.
///
/// *Shape*: ``OutboxField``.
enum OutboxRecord {
    /// Reads an entry of XRANGE or XREADGROUP; nil when it is none of ours.
    static func entry(_ value: RedisValue, partition: Int) -> OutboxEntry? {
        guard let parts = value.array, parts.count == 2, let id = parts[0].string,
            let fields = parts[1].array
        else { return nil }
        var event: Event?
        var urls = ""
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            switch fields[index].string.flatMap(OutboxField.init(rawValue:)) {
            case .event, .packed:
                if let stored = fields[index + 1].bytes {
                    event = PackedEvent.event(stored, of: nil)
                }
            case .notify: urls = fields[index + 1].string ?? ""
            case .item, nil: break
            }
        }
        guard let event else { return nil }
        return OutboxEntry(id: id, partition: partition, event: event, notify: notify(urls))
    }

    /// Reads URLs this system checked when it stored them.
    static func notify(_ text: String) -> [NotifyURL] {
        text.split(separator: "\n").compactMap { try? NotifyURL(String($0)) }
    }
}
