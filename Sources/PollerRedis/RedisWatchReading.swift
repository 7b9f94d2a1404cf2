import Logging
package import Poller
import RedisClient

extension RedisWatchStore {
    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await snapshot(key.id, partition: partition(of: key))
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        let reply = try await redis.run(
            redis.scripts.log,
            partition: partition(of: key),
            [.string("\(key.id)"), RedisArgument(max(seq, 0)), RedisArgument(max(limit, 1))]
        )
        return (reply.array ?? []).compactMap { $0.string.flatMap(Event.init(json:)) }
    }

    package func list(
        _ query: ListQuery
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let start = ListPosition(cursor: query.cursor, state: query.state)
        guard let start else { throw .unknownCursor }
        let span = ListSpan(
            home: 0,
            end: partitions,
            afterOpen: query.state == nil ? .closed : nil
        )
        return try await page(from: start, span, lane: nil, limit: query.limit) {
            (item, partition) async throws(StoreError) in
            let snapshot = try await snapshot(item, partition: partition)
            return snapshot.flatMap { query.matches($0) ? $0 : nil }
        }
    }

    private func snapshot(
        _ id: ItemID,
        partition: Int
    ) async throws(StoreError) -> WatchSnapshot? {
        guard let reading = try await reading(id, partition: partition) else { return nil }
        return WatchSnapshot(
            watch: reading.item,
            closed: reading.fields.closed.flatMap(ClosedReason.init(rawValue:)),
            nextPollAt: reading.due,
            lastError: reading.long[.error],
            notify: OutboxRecord.notify(reading.long[.notify] ?? ""),
            metadata: reading.long[.metadata] ?? "",
            lastEvent: Event(json: reading.newestEvent)
        )
    }
}

/// What operators ask about single watches.
extension RedisWatchStore {
    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await redis.run(
            redis.scripts.redrive,
            partition: partition(of: key),
            [.string(key.id.description)]
        ).int == 1
    }

    package func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation? {
        guard let snapshot = try await snapshot(of: key) else { return nil }
        let reply = try await redis.run(
            redis.scripts.explain,
            partition: partition(of: key),
            [.string(key.id.description)]
        )
        guard let parts = reply.array else { throw .corrupt("explain.lua answered \(reply)") }
        if parts.isEmpty { return nil }
        guard parts.count >= 3, let lane = parts[0].string, let place = place(parts) else {
            throw .corrupt("the watch is in no place: run fsck")
        }
        let report = try await report(on: LaneID(unchecked: lane))
        return Explanation(
            snapshot: snapshot,
            place: place,
            lane: report,
            limit: report.limit ?? limit,
            crashes: parts[1].int ?? 0
        )
    }

    /// Reads explain.lua's answer: {lane, crashes, place, …}.
    private func place(_ parts: [RedisValue]) -> Explanation.Place? {
        func time(_ index: Int) -> Timestamp { Timestamp(ms: Int64(parts[index].int ?? 0)) }
        switch (parts[2].string, parts.count) {
        case ("waiting", 6):
            return .waiting(
                due: time(3),
                isUrgent: parts[4].string == KeyKind.urgent.rawValue,
                ahead: parts[5].int ?? 0
            )
        case ("leased", 5):
            return .leased(owner: OwnerID(unchecked: parts[3].string ?? ""), until: time(4))
        case ("closed", 4):
            return parts[3].string.flatMap(ClosedReason.init(rawValue:)).map { .closed($0) }
        default: return nil
        }
    }
}
