package import Poller
import RedisClient

/// What operators ask about single watches.
extension RedisWatchStore {
    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await queue.run(
            queue.scripts.redrive,
            partition: partition(of: key),
            [.string(key.id.description)]
        ).int == 1
    }

    package func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation? {
        guard let snapshot = try await snapshot(of: key) else { return nil }
        let reply = try await queue.run(
            queue.scripts.explain,
            partition: partition(of: key),
            [.string(key.id.description)]
        )
        guard let parts = reply.array else { throw .corrupt("explain.lua answered \(reply)") }
        if parts.isEmpty { return nil }
        guard parts.count >= 3, let lane = parts[0].string, let place = place(parts) else {
            throw .corrupt("the watch is in no place: run fsck")
        }
        let report = try await queue.report(on: LaneID(unchecked: lane))
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
                isUrgent: parts[4].string == "u",
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
