import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches
import RedisClient

/// Restoring watches from an archive.
extension RedisWatchStore {
    /// The number of watches restored by one script: with logs of some KB each, a few hundred KB of writes.
    private static var restoredMax: Int { 64 }

    package func restore(_ archived: [ArchivedWatch]) async throws(StoreError) -> [Bool] {
        var results = [Bool](repeating: false, count: archived.count)
        try await redis.run(
            .restore,
            for: archived.map(\.watch.key.lane),
            most: Self.restoredMax,
            isDurable: true
        ) { group in
            group.flatMap { arguments(for: archived[$0]) }
        } _: { group, reply throws(StoreError) in
            guard let outcomes = reply.array, outcomes.count == group.count else {
                throw .corrupt("restore.lua answered \(reply)")
            }
            for (index, outcome) in zip(group, outcomes) { results[index] = outcome.int == 1 }
        }
        return results
    }

    private func arguments(for archived: ArchivedWatch) -> [RedisArgument] {
        let watch = archived.watch
        let entries = SearchEntries(of: archived.snapshot, keys: searchKeys)
        let log = log(of: archived)
        let options = watch.options.arguments
        return [
            .string(watch.key.id.description),
            .string(watch.key.source.description),
            .string(WatchRecord.text(of: watch.state)),
            .string(watch.key.lane.description),
            RedisArgument(watch.createdAt.ms),
            RedisArgument(watch.deadline.ms),
            RedisArgument(watch.run),
            RedisArgument(watch.seq),
            .string(archived.closed.rawValue),
            .string(watch.payment?.packed ?? ""),
            .string(watch.order?.description ?? ""),
            RedisArgument(archived.forgottenSeq),
            ShortText.argument(archived.notify.map(\.description).joined(separator: "\n")),
            ShortText.argument(archived.metadata),
            .string(archived.lastError ?? ""),
            .string(entries.stored),
            RedisArgument(options.count),
            RedisArgument(log.count),
        ] + options + log
    }

    /// Returns the log as one entry; if it cannot be packed together, one entry per event.
    private func log(of archived: ArchivedWatch) -> [RedisArgument] {
        let packed = CompactedEvents.bytes(restoring: archived.events)
        guard packed.isEmpty else { return [.bytes(packed)] }
        return archived.events.map { event in
            let stored = PackedEvent.bytes(of: event)
            return .bytes(stored.isEmpty ? Array(event.json.utf8) : stored)
        }
    }
}
