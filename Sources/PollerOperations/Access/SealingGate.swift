package import PollerQueue
import Synchronization

/// Whether this process may encrypt secrets: not after others have sealed the store with a key that it does not have.
///
/// A process with only the new key could not decrypt its values. The result of a poll is stored all the same, because
/// the payment matters more than its secret. Each process repeatedly announces its key (`RedisSecrets.refresh()`), so that
/// operators do not see the key reported as unneeded meanwhile.
///
/// A class, because the stores read the result of the check of the roots.
package final class SealingGate: Sendable {
    private let found = Mutex<SealError?>(nil)

    /// Creates an open gate.
    package init() {}

    /// The reason why encryption is not allowed; `nil` while it is.
    package var refusal: SealError? { found.withLock { $0 } }

    /// Sets the result of the last check; `nil` opens the gate.
    package func set(_ refusal: SealError?) { found.withLock { $0 = refusal } }

    /// Throws if encryption is not allowed.
    package func check() throws(StoreError) {
        if let refusal { throw .keyMissing("\(refusal)") }
    }
}
