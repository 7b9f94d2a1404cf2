package import Poller
import RedisClient

/// The outbox as live readers read it: whose entries there are, then the events somebody hears.
///
/// An entry holds its event, so the bytes come with the reference and stay packed until they are asked for.
extension RedisWatchStore {
    package func references(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxReference] {
        let reply = try await redis.client.ask(
            RedisCommand(
                "XRANGE",
                [
                    .string(redis.keys.outbox(partition)), .string("(\(position)"), "+", "COUNT",
                    RedisArgument(limit),
                ]
            )
        )
        return (reply.array ?? []).compactMap { OutboxRecord.reference($0, partition: partition) }
    }

    package func events(
        of references: [OutboxReference]
    ) async throws(StoreError) -> [Event?] {
        references.map { PackedEvent.event($0.stored, of: nil) }
    }
}

extension OutboxRecord {
    /// Reads whose entry it is; nil when the value is no entry.
    ///
    /// An entry of which nothing is understood is a reference to no event, so that a reader gets past it.
    static func reference(_ value: RedisValue, partition: Int) -> OutboxReference? {
        guard let parts = value.array, parts.count == 2, let id = parts[0].string else {
            return nil
        }
        let fields = parts[1].array ?? []
        var item = ""
        var stored: [UInt8] = []
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            switch fields[index].string.flatMap(OutboxField.init(rawValue:)) {
            case .item: item = fields[index + 1].string ?? ""
            case .event, .packed: stored = fields[index + 1].bytes ?? []
            case .notify, nil: break
            }
        }
        return OutboxReference(
            id: id,
            partition: partition,
            item: ItemID(unchecked: item),
            lane: nil,
            stored: stored
        )
    }
}
