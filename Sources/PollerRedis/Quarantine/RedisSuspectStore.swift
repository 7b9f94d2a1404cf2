import PollerIdentity
package import PollerOperations
package import PollerQueue
import RedisClient
import SafeNumbers

/// Deaths per entry and entries that are set aside, three hashes in each partition of the watches.
///
/// *Shape*: ``KeyKind/suspects``, ``KeyKind/setAside`` and ``KeyKind/setAsideFields``.
package struct RedisSuspectStore: SuspectStore {
    private let redis: RedisPartitions
    private var partitions: Range<Int> { 0..<redis.keys.partitions }

    /// Creates the suspect store of a cluster.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    package func partition(ofSuspects name: String) -> Int { redis.keys.fixedPartition(of: name) }

    package func begin(
        _ suspects: [Suspect],
        isAlone: Bool
    ) async throws(StoreError) -> [SuspectState] {
        guard let partition = suspects.first?.partition else { return [] }
        let reply = try await redis.run(
            .suspectBegin,
            partition: partition,
            [.string(isAlone ? "1" : "0")]
                + suspects.flatMap { suspect -> [RedisArgument] in
                    [.string(suspect.id), RedisArgument(suspect.reader.span.ms)]
                }
        )
        guard let parts = reply.array, parts.count == 1 + 2 * suspects.count,
            let now = parts[0].string.flatMap({ Int64(decimal: $0) })
        else { throw .corrupt("suspect_begin.lua answered \(reply)") }
        return suspects.indices.map { index -> SuspectState in
            let deaths = parts[1 + 2 * index].int ?? 0
            if deaths == -2 { return .setAside }
            if deaths == -1 { return .held }
            guard deaths > 0 else { return .fresh }
            let first = parts[2 + 2 * index].string.flatMap { Int64(decimal: $0) } ?? now
            return .suspected(
                deaths: deaths,
                firstAt: Timestamp(ms: first),
                now: Timestamp(ms: now)
            )
        }
    }

    package func finish(_ suspects: [Suspect]) async throws(StoreError) {
        guard let partition = suspects.first?.partition else { return }
        let key = RedisArgument.string(redis.keys.suspects(partition))
        let command = RedisCommand("HDEL", [key] + suspects.map { .string($0.id) })
        _ = try await redis.client.execute(command)
    }

    package func setAside(_ entry: SetAsideEntry) async throws(StoreError) -> Bool {
        guard let partition = Suspect.partition(ofID: entry.id) else { return false }
        return try await redis.run(
            .suspectSetAside,
            partition: partition,
            [
                .string(entry.id), RedisArgument(SetAsideEntry.countMax),
                .string(entry.stored), .string(entry.outboxEntry ?? ""),
            ]
        ).int == 1
    }

    package func setAsideEntries() async throws(StoreError) -> [SetAsideEntry] {
        let commands = partitions.map { partition in
            RedisCommand("HVALS", [.string(redis.keys.setAside(partition))])
        }
        var entries: [SetAsideEntry] = []
        for reply in try await redis.client.execute(commands) {
            if let error = reply.error { throw StoreError(.reply(error)) }
            entries += (reply.array ?? []).compactMap {
                $0.string.flatMap { SetAsideEntry(stored: $0) }
            }
        }
        return entries.sorted { ($0.setAsideAt, $0.id) < ($1.setAsideAt, $1.id) }
    }

    package func endSetAside(
        _ id: String,
        isRedriven: Bool
    ) async throws(StoreError) -> SetAsideEntry? {
        guard let partition = Suspect.partition(ofID: id), partitions.contains(partition) else {
            return nil
        }
        return try await redis.run(
            .suspectEnd,
            partition: partition,
            [.string(id), .string(isRedriven ? "1" : "0")]
        ).string.flatMap { SetAsideEntry(stored: $0) }
    }
}
