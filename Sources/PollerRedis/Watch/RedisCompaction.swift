import PollerIdentity
package import PollerQueue
import RedisClient

/// Compacting the events of closed watches, and removing their bodies.
extension RedisWatchStore {
    package func compact(partition: Int, after span: Duration) async throws(StoreError) -> Bool {
        try await replaceLogs(partition, .compacted, after: span, entriesMin: 2) {
            CompactedEvents.bytes(compacting: $0, of: $1)
        }
    }

    package func removeBodies(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool {
        try await replaceLogs(partition, .reduced, after: retention, entriesMin: 1, Self.reduced)
    }

    /// Replaces the logs of some watches that closed longer than `span` ago; true when there may be more.
    ///
    /// `position` is the closing time up to which this was done. Logs with fewer entries than `entriesMin` are left.
    /// `replacement` returns the entry that replaces those of a log; empty if the log stays unchanged.
    private func replaceLogs(
        _ partition: Int,
        _ position: MetaField,
        after span: Duration,
        entriesMin: Int,
        _ replacement: ([[UInt8]], WatchKey) -> [UInt8]
    ) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            .compactRead,
            partition: partition,
            [
                RedisArgument(span.ms), RedisArgument(Self.logsMax),
                .string(position.rawValue), RedisArgument(entriesMin),
            ]
        )
        guard let parts = reply.array else { throw .corrupt("compact_read.lua answered \(reply)") }
        guard parts.count >= 2, let last = parts[0].string, let more = parts[1].int else {
            return false
        }
        var arguments: [RedisArgument] = [.string(position.rawValue), .string(last)]
        for part in parts.dropFirst(2) {
            guard let item = part.array, item.count == 5, let id = item[0].string,
                let seq = item[1].string, let log = item[4].array
            else { throw .corrupt("compact_read.lua answered \(part)") }
            let stored = log.compactMap(\.bytes)
            // An item that is not a watch keeps its log.
            let key = OutboxRecord.key(source: item[2].string ?? "", lane: item[3].string ?? "")
            let entry = stored.count == log.count ? key.map { replacement(stored, $0) } : nil
            arguments += [.string(id), .string(seq), RedisArgument(log.count), .bytes(entry ?? [])]
        }
        _ = try await redis.run(.compactWrite, partition: partition, arguments)
        return more != 0
    }

    /// The number of logs read at a time; fewer if they are long.
    private static var logsMax: Int { 64 }

    /// Returns the reduced form of a log; empty if the log stays unchanged.
    private static func reduced(_ log: [[UInt8]], of key: WatchKey) -> [UInt8] {
        if log.count == 1, CompactedEvents.isReduced(log[0]) { return [] }
        // An entry in another format is not dropped.
        guard let events = PackedEvent.allEvents(of: log, of: key) else { return [] }
        return CompactedEvents.bytes(of: events.suffix(CompactedEvents.countMax))
    }
}
