package import Poller
import RedisClient

/// The outbox as live readers read it: whose entries there are, then the events somebody hears.
///
/// An entry names its event by its place in the log of its item; of an older form it holds it, and then the bytes
/// come with the reference and stay packed until they are asked for.
extension RedisWatchStore {
    package func references(
        behind places: [OutboxPlace],
        limit: Int
    ) async throws(StoreError) -> [[OutboxReference]] {
        let replies = try await redis.client.ask(
            places.map { place in
                RedisCommand(
                    "XRANGE",
                    [
                        .string(redis.keys.outbox(place.partition)),
                        .string("(\(place.position)"), "+", "COUNT", RedisArgument(limit),
                    ]
                )
            }
        )
        if let error = replies.lazy.compactMap(\.error).first {
            throw StoreError(RedisError.reply(error))
        }
        return zip(places, replies).map { place, reply in
            (reply.array ?? []).compactMap { value in
                OutboxRecord(value).map { OutboxReference($0, partition: place.partition) }
            }
        }
    }

    package func events(
        of references: [OutboxReference]
    ) async throws(StoreError) -> [Event?] {
        var events = references.map { $0.seq == nil ? PackedEvent.event($0.stored, of: nil) : nil }
        let named = references.indices.compactMap { index in
            references[index].seq.map { (index: index, seq: $0) }
        }
        // They are told from here, and so only once a failover could no longer lose them.
        let isConfirmed = redis.durability != nil
        let told = try await recorded(
            named.map { place in
                let reference = references[place.index]
                return RecordedEvent(
                    item: reference.item.description,
                    lane: reference.lane ?? LaneID(unchecked: ""),
                    seq: place.seq
                )
            },
            isConfirmed: isConfirmed
        )
        if isConfirmed { try await confirm(references.filter { $0.seq == nil }) }
        for (place, answer) in zip(named, told) {
            events[place.index] = OutboxRecord.event(place.seq, answer)
        }
        return events
    }

    /// Waits for replicas of entries that hold their events themselves; for one of each partition, behind which the
    /// others are.
    private func confirm(_ references: [OutboxReference]) async throws(StoreError) {
        for (partition, found) in Dictionary(grouping: references, by: \.partition) {
            guard let newest = found.last else { continue }
            try await redis.confirm(partition: partition, entry: newest.id)
        }
    }
}

/// What this store keeps in a reference: the event's bytes, or behind a 0, with which none begin, its number.
extension OutboxReference {
    /// Whose entry it is; one of which nothing is understood refers to no event, so that a reader gets past it.
    fileprivate init(_ record: OutboxRecord, partition: Int) {
        self.init(
            id: record.id,
            partition: partition,
            item: ItemID(unchecked: record.item),
            lane: record.lane.isEmpty ? nil : LaneID(unchecked: record.lane),
            stored: record.seq.map { [0] + Array("\($0)".utf8) } ?? record.stored ?? []
        )
    }

    /// The event's number in the log of its item; nil where the event itself is here.
    fileprivate var seq: Int? {
        stored.first == 0 ? Int(count: String(decoding: stored.dropFirst(), as: UTF8.self)) : nil
    }
}
