package import PollerIdentity
package import PollerQueue
package import PollerWatches
import RedisClient
import SafeNumbers

/// The notes of a watch, in a list of their own.
///
/// Watches without requests, hints or other outside facts have no notes, so a million watches that are only polled cost
/// nothing more.
extension RedisWatchStore {
    package func note(_ note: WatchNote, of key: WatchKey) async throws(StoreError) {
        _ = try await redis.run(
            .note,
            of: key.lane,
            [
                .string(key.id.description), .string(note.json),
                RedisArgument(WatchNote.countMax), RedisArgument(WatchNote.kept.ms),
                RedisArgument(WatchNote.pause.ms),
            ]
        )
    }

    package func notes(of key: WatchKey) async throws(StoreError) -> [StoredNote] {
        try await redis.refreshSplits()
        let name = redis.keys.notes(of: key.id.description, partition(of: key))
        let reply = try await redis.client.execute(
            RedisCommand("LRANGE", [.string(name), 0, -1])
        )
        return (reply.array ?? []).compactMap { $0.string.flatMap(StoredNote.init(stored:)) }
    }
}

extension StoredNote {
    /// Reads `<ms> <JSON>`, as note.lua writes it; `nil` if a later release has stored it.
    fileprivate init?(stored text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let ms = Int64(safe: parts[0]),
            let note = WatchNote(json: "\(parts[1])")
        else { return nil }
        self.init(at: Timestamp(ms: ms), note: note)
    }
}
