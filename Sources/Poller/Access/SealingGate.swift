package import PollerQueue
import Synchronization

/// Whether this process may seal: not once others have sealed the store by a key that it does not have.
///
/// What it would seal, nobody could open any more who has the new key alone. A poll's result is written all the
/// same, because the payment matters more than the secret beside it: each process notes its key again and again
/// (`RedisSecrets.look()`), so nobody is told meanwhile that this key is not needed.
///
/// A class, because the stores ask what the look at the roots has found.
package final class SealingGate: Sendable {
    private let found = Mutex<SealError?>(nil)

    /// An open gate.
    package init() {}

    /// Why nothing may be sealed; nil while it may.
    package var refusal: SealError? { found.withLock { $0 } }

    /// Says what the last look has found; nil opens the gate.
    package func set(_ refusal: SealError?) { found.withLock { $0 = refusal } }

    /// Refuses to seal, where that may not be.
    package func check() throws(StoreError) {
        if let refusal { throw .keyMissing("\(refusal)") }
    }
}
