package import PollerIdentity
package import PollerQueue

/// The keys of a cluster, as every process of it reads them.
package protocol KeyStore: Sendable {
    /// A number that is greater after every change; 0 while there has never been a key.
    func version() async throws(StoreError) -> Int64

    /// Every key there is, the oldest first; ended ones too.
    func register() async throws(StoreError) -> KeyRegister

    /// Adds a key; in the place of one of this id, which the same request has made without telling anybody.
    ///
    /// `share` bounds the keys of certain accounts; nil for nobody's.
    func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within share: KeyShare?
    ) async throws(StoreError) -> KeyCreation

    /// Takes a key away, for good.
    ///
    /// `mayBeLast`: also when no other lasting key of an admin is left (``AccessKey/isLasting``).
    func revoke(_ id: KeyID, mayBeLast: Bool) async throws(StoreError) -> KeyRevocation

    /// Notes when keys were used; what is no key any more is passed over.
    func note(used: [KeyID: Timestamp]) async throws(StoreError)
}

extension KeyStore {
    /// Adds a key where nothing but the number of all keys bounds it.
    package func create(
        _ key: AccessKey,
        digest: KeyDigest
    ) async throws(StoreError) -> KeyCreation {
        try await create(key, digest: digest, within: nil)
    }
}

/// How many keys there may be of these accounts and of no others.
package struct KeyShare: Hashable, Sendable {
    package let accounts: AccountSet
    package let countMax: Int

    /// Bounds the keys of `accounts`.
    package init(of accounts: AccountSet, countMax: Int) {
        self.accounts = accounts
        self.countMax = countMax
    }
}

/// The keys at one moment.
package struct KeyRegister: Sendable {
    package let version: Int64
    /// The oldest first.
    package let keys: [(key: AccessKey, digest: KeyDigest)]

    /// What a store has read, in any order.
    package init(version: Int64, keys: [(key: AccessKey, digest: KeyDigest)]) {
        self.version = version
        self.keys = keys.sorted {
            ($0.key.createdAt.ms, $0.key.id.description)
                < ($1.key.createdAt.ms, $1.key.id.description)
        }
    }
}

/// What became of a new key.
package enum KeyCreation: Hashable, Sendable {
    /// It is there, with the store's time.
    case created(AccessKey)
    /// There are ``AccessKey/countMax`` already.
    case tooMany
    /// There are so many of these accounts already (``KeyShare``).
    case tooManyOfAccounts(Int)
}

/// What became of a key that was to go.
package enum KeyRevocation: Hashable, Sendable {
    case revoked(AccessKey)
    case unknown
    /// Without it nobody could make keys any more.
    case lastAdmin
}
