import PollerIdentity
import PollerOperations
import PollerQueue
import Synchronization

/// Keys of a process that dies once, after it has created one.
///
/// A class, because the server and the test share it.
final class DyingKeys: Sendable {
    private let count = Mutex(0)

    /// The number of created keys.
    var made: Int { count.withLock { $0 } }

    func before(_ store: any KeyStore) -> any KeyStore { Store(base: store, keys: self) }

    private struct Store: KeyStore {
        let base: any KeyStore
        let keys: DyingKeys

        func version() async throws(StoreError) -> Int64 { try await base.version() }

        func register() async throws(StoreError) -> KeyRegister { try await base.register() }

        func create(
            _ key: AccessKey,
            digest: KeyDigest,
            within accountLimit: AccountKeyLimit?
        ) async throws(StoreError) -> KeyCreation {
            let made = try await base.create(key, digest: digest, within: accountLimit)
            let number = keys.count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { throw .unavailable("it has died") }
            return made
        }

        func revoke(_ id: KeyID, mayBeLast: Bool) async throws(StoreError) -> KeyRevocation {
            try await base.revoke(id, mayBeLast: mayBeLast)
        }

        func note(used: [KeyID: Timestamp]) async throws(StoreError) {
            try await base.note(used: used)
        }
    }
}
