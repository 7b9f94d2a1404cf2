package import PollerDeliveries
package import PollerQueue
package import PollerWatches
import RedisClient

/// The outbox as live readers read it: first the accounts of entries, then the events with subscribers.
///
/// An entry refers to its event by its number in the log of its item.
extension RedisOutbox {
    package func references(
        behind cursors: [OutboxReadPosition],
        limit: Int
    ) async throws(StoreError) -> [[OutboxReference]] {
        let replies = try await redis.client.execute(
            cursors.map { cursor in
                RedisCommand(
                    "XRANGE",
                    [
                        .string(redis.keys.outbox(cursor.partition)),
                        .string("(\(cursor.position)"), "+", "COUNT", RedisArgument(limit),
                    ]
                )
            }
        )
        if let error = replies.lazy.compactMap(\.error).first {
            throw StoreError(RedisError.reply(error))
        }
        return zip(cursors, replies).map { cursor, reply in
            (reply.array ?? []).compactMap { value in
                OutboxRecord(value).map { record in
                    OutboxReference(
                        id: record.id,
                        partition: cursor.partition,
                        item: ItemID(unchecked: record.item),
                        lane: record.lane.isEmpty ? nil : LaneID(unchecked: record.lane),
                        seq: record.seq
                    )
                }
            }
        }
    }

    package func events(
        of references: [OutboxReference]
    ) async throws(StoreError) -> [Event?] {
        // The events are delivered from here, so only once a failover could no longer lose them.
        let logged = try await recorded(
            references.map { reference in
                RecordedEvent(
                    item: reference.item.description,
                    lane: reference.lane ?? LaneID(unchecked: ""),
                    seq: reference.seq
                )
            },
            isConfirmed: redis.durability != nil
        )
        return zip(references, logged).map { OutboxRecord.event($0.seq, $1) }
    }
}
