package import PollerDeliveries
package import PollerQueue
package import PollerWatches
import Synchronization

/// The outbox as live readers read it.
extension MemoryStore {
    package func references(
        behind cursors: [OutboxReadPosition],
        limit: Int
    ) async throws(StoreError) -> [[OutboxReference]] {
        looks.withLock { $0 += 1 }
        var found: [[OutboxReference]] = []
        let unreachable = unreachable.withLock(\.self)
        for cursor in cursors {
            if unreachable.contains(cursor.partition) {
                throw .unavailable("its master is unavailable")
            }
            let entries = try await entries(
                partition: cursor.partition,
                after: cursor.position,
                limit: limit
            )
            found.append(entries.map(\.reference))
        }
        return found
    }

    /// How often references were read.
    package var looksTaken: Int { looks.withLock { $0 } }

    /// The number of references whose events were read.
    package var eventsRead: Int { read.withLock { $0 } }

    package func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?] {
        let unconfirmed = unconfirmed.withLock(\.self)
        if references.contains(where: { unconfirmed.contains($0.partition) }) {
            throw .unavailable("too few replicas have the write")
        }
        read.withLock { $0 += references.count }
        return reading { state, _ in
            references.map { state.outbox[$0.partition].event($0.id) }
        }
    }

    /// Withholds the events of these partitions from now on, as if too few replicas had them.
    package func withhold(_ partitions: Set<Int>) {
        unconfirmed.withLock { $0 = partitions }
    }

    /// Makes the outbox of these partitions unreadable for live readers, as if their master were unavailable.
    package func cutOff(_ partitions: Set<Int>) {
        unreachable.withLock { $0 = partitions }
    }

    package func bounds() async throws(StoreError) -> [OutboxBounds] {
        let found = try await reachableBounds().compactMap(\.self)
        guard found.count == partitions else { throw .unavailable("a master is unavailable") }
        return found
    }

    package func reachableBounds() async throws(StoreError) -> [OutboxBounds?] {
        let bounds = reading { state, _ in state.outbox.map(\.bounds) }
        await boundsGate.pass()
        let unreachable = unreachable.withLock(\.self)
        return bounds.enumerated().map { unreachable.contains($0) ? nil : $1 }
    }
}
