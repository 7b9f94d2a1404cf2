import PollerIdentity
import PollerOperations
import PollerQueue

/// Fixed keys that can be read and never change.
struct ListedKeys: KeyStore {
    var keys: [AccessKey] = []

    func version() async throws(StoreError) -> Int64 { 1 }

    func register() async throws(StoreError) -> KeyRegister {
        KeyRegister(version: 1, keys: keys.map { ($0, KeyDigest(of: $0.name ?? "")) })
    }

    func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within accountLimit: AccountKeyLimit?
    ) async throws(StoreError) -> KeyCreation { .tooMany }

    func revoke(_ id: KeyID, mayBeLast: Bool) async throws(StoreError) -> KeyRevocation { .unknown }

    func note(used: [KeyID: Timestamp]) async throws(StoreError) {}
}
