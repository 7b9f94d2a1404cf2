package import Poller
import Synchronization

/// The outbox as live readers read it.
extension MemoryStore {
    package func references(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxReference] {
        try await entries(partition: partition, after: position, limit: limit).map(\.reference)
    }

    /// References that somebody wanted the events of.
    package var eventsRead: Int { read.withLock { $0 } }

    package func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?] {
        read.withLock { $0 += references.count }
        return reading { state, _ in
            references.map { state.outbox[$0.partition].event($0.id) }
        }
    }
}
