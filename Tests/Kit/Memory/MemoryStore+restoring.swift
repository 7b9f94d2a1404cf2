package import PollerQueue
package import PollerWatches

/// Watches of an archive, in memory.
extension MemoryStore {
    package func restore(_ archived: [ArchivedWatch]) async throws(StoreError) -> [Bool] {
        changing { state, now in
            archived.map { archived in
                let key = archived.watch.key
                let partition = state.queue.partition(of: key.lane)
                let isThere = state.queue[partition].items[key.id] != nil
                if isThere, !state.flaws.contains(.restoresOverOthers) { return false }
                state.queue[partition].items[key.id] = MemoryItem(
                    lane: key.lane,
                    phase: .closed(archived.closed, at: now),
                    record: WatchRecord(archived)
                )
                if state.flaws.contains(.republishesRestoredEvents) {
                    for event in archived.events {
                        state.outbox[partition].append(event, notify: archived.notify, now: now)
                    }
                }
                return true
            }
        }
    }
}
