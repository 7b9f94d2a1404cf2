package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import Synchronization

/// The rejections of a mail relay, in memory.
package final class MemoryRelayTroubles: RelayTroubleStore {
    private let known = Mutex<(trouble: RelayTrouble?, accepted: Timestamp?)>((nil, nil))

    /// Creates a record without rejections.
    package init() {}

    package func noteRefusal(_ answer: String, at now: Timestamp) async throws(StoreError) {
        known.withLock { $0.trouble = RelayTrouble($0.trouble, refusing: answer, at: now) }
    }

    package func noteAcceptance(at now: Timestamp) async throws(StoreError) {
        known.withLock { $0.accepted = now }
    }

    package func relayTrouble() async throws(StoreError) -> RelayTrouble? {
        known.withLock { known in
            known.trouble.map { trouble in
                RelayTrouble(
                    answer: trouble.answer,
                    count: trouble.count,
                    since: trouble.since,
                    last: trouble.last,
                    accepted: known.accepted
                )
            }
        }
    }
}
