import PollerIdentity
package import PollerQueue
import RedisClient

/// Deleting the bodies of the events of closed watches.
extension RedisWatchStore {
    package func fade(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            redis.scripts[.foldRead],
            partition: partition,
            [RedisArgument(retention.ms), RedisArgument(Self.foldedMax)]
        )
        guard let parts = reply.array else { throw .corrupt("fold_read.lua answered \(reply)") }
        guard parts.count >= 2, let last = parts[0].string, let count = parts[1].int else {
            return false
        }
        var arguments: [RedisArgument] = [.string(last)]
        for part in parts.dropFirst(2) {
            guard let item = part.array, item.count == 5, let id = item[0].string,
                let seq = item[1].string, let log = item[4].array
            else { throw .corrupt("fold_read.lua answered \(part)") }
            let source = item[2].string ?? ""
            let key = OutboxRecord.key(source: source, lane: item[3].string ?? "")
            let left = Self.folded(log, of: key, source)
            arguments += [.string(id), .string(seq), RedisArgument(log.count), .bytes(left)]
        }
        _ = try await redis.run(redis.scripts[.foldWrite], partition: partition, arguments)
        return count >= Self.foldedMax
    }

    /// The number of logs read at a time: a few hundred KiB.
    private static var foldedMax: Int { 64 }

    /// Returns the reduced form of a log; empty if the log stays unchanged.
    private static func folded(
        _ log: [RedisValue],
        of key: WatchKey?,
        _ source: String
    ) -> [UInt8] {
        let stored = log.compactMap(\.bytes)
        if stored.count == 1, FoldedEvents.isFolded(stored[0]) { return [] }
        let events = stored.map { PackedEvent.events($0, of: key, source: source) }
        // An entry in another format is not dropped.
        guard stored.count == log.count, events.allSatisfy({ !$0.isEmpty }) else { return [] }
        return FoldedEvents.bytes(of: events.flatMap(\.self).suffix(FoldedEvents.countMax))
    }
}
