import PollerIdentity
import PollerOperations
import PollerQueue

/// Keys of a store whose answers to changes are lost: each change is made, and the caller gets an error.
struct UnansweredKeys: KeyStore {
    let base: any KeyStore

    func version() async throws(StoreError) -> Int64 { try await base.version() }

    func register() async throws(StoreError) -> KeyRegister { try await base.register() }

    func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within accountLimit: AccountKeyLimit?
    ) async throws(StoreError) -> KeyCreation {
        _ = try await base.create(key, digest: digest, within: accountLimit)
        throw .unavailable("the answer is lost")
    }

    func revoke(_ id: KeyID, mayBeLast: Bool) async throws(StoreError) -> KeyRevocation {
        _ = try await base.revoke(id, mayBeLast: mayBeLast)
        throw .unavailable("the answer is lost")
    }

    func note(used: [KeyID: Timestamp]) async throws(StoreError) {
        try await base.note(used: used)
    }
}
