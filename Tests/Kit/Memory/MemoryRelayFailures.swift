package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import Synchronization

/// The rejections of a mail relay, in memory.
package final class MemoryRelayFailures: RelayFailureStore {
    private let known = Mutex<(failures: RelayFailures?, accepted: Timestamp?)>((nil, nil))

    /// Creates a record without rejections.
    package init() {}

    package func noteRefusal(_ answer: String, at now: Timestamp) async throws(StoreError) {
        known.withLock { $0.failures = RelayFailures($0.failures, refusing: answer, at: now) }
    }

    package func noteAcceptance(at now: Timestamp) async throws(StoreError) {
        known.withLock { $0.accepted = now }
    }

    package func relayFailures() async throws(StoreError) -> RelayFailures? {
        known.withLock { known in
            known.failures.map { failures in
                RelayFailures(
                    answer: failures.answer,
                    count: failures.count,
                    since: failures.since,
                    last: failures.last,
                    accepted: known.accepted
                )
            }
        }
    }
}
