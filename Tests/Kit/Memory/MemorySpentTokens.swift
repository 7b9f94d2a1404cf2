import PollerDeliveries
package import PollerQueue
import Synchronization

/// Spent tokens in memory.
///
/// This is a class because several gateways share it.
package final class MemorySpentTokens: SpentTokens {
    private let ids = Mutex<Set<String>>([])

    /// Creates an empty record.
    package init() {}

    package func spend(_ id: String, for life: Duration) async throws(StoreError) -> Bool {
        ids.withLock { $0.insert(id).inserted }
    }

    package func isSpent(_ id: String) async throws(StoreError) -> Bool {
        ids.withLock { $0.contains(id) }
    }
}
