package import PollerIdentity
package import PollerQueue

/// The keys of a cluster, which every process reads.
package protocol KeyStore: Sendable {
    /// Returns a number that every change raises; 0 while there has never been a key.
    func version() async throws(StoreError) -> Int64

    /// Returns all keys, the oldest first, including expired ones.
    func register() async throws(StoreError) -> KeyRegister

    /// Adds a key; replaces one with this ID, left by a lost response.
    ///
    /// `accountLimit` limits the keys of certain accounts; `nil`: no limit per account.
    func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within accountLimit: AccountKeyLimit?
    ) async throws(StoreError) -> KeyCreation

    /// Revokes a key permanently.
    ///
    /// `mayBeLast`: even if it is the last lasting key of an admin (``AccessKey/isPermanentAdmin``).
    func revoke(_ id: KeyID, mayBeLast: Bool) async throws(StoreError) -> KeyRevocation

    /// Records when keys were used.
    ///
    /// Unknown IDs are ignored.
    func note(used: [KeyID: Timestamp]) async throws(StoreError)
}

extension KeyStore {
    /// Adds a key that only the total number of keys limits.
    package func create(
        _ key: AccessKey,
        digest: KeyDigest
    ) async throws(StoreError) -> KeyCreation {
        try await create(key, digest: digest, within: nil)
    }
}

/// The maximum number of keys for exactly these accounts.
package struct AccountKeyLimit: Hashable, Sendable {
    package let accounts: AccountSet
    package let countMax: Int

    package init(of accounts: AccountSet, countMax: Int) {
        self.accounts = accounts
        self.countMax = countMax
    }
}

/// The keys at one moment.
package struct KeyRegister: Sendable {
    package let version: Int64
    /// The keys, the oldest first.
    package let keys: [(key: AccessKey, digest: KeyDigest)]

    /// Creates a register from the keys of a store, in any order.
    package init(version: Int64, keys: [(key: AccessKey, digest: KeyDigest)]) {
        self.version = version
        self.keys = keys.sorted {
            ($0.key.createdAt.ms, $0.key.id.description)
                < ($1.key.createdAt.ms, $1.key.id.description)
        }
    }
}

/// The result of creating a key.
package enum KeyCreation: Hashable, Sendable {
    /// Created, with the store's time.
    case created(AccessKey)
    /// The limit of ``AccessKey/countMax`` is reached.
    case tooMany
    /// The limit of keys for these accounts is reached (``AccountKeyLimit``).
    case tooManyOfAccounts(Int)
}

/// The result of revoking a key.
package enum KeyRevocation: Hashable, Sendable {
    case revoked(AccessKey)
    case unknown
    /// It is the last key that can create keys.
    case lastAdmin
}
