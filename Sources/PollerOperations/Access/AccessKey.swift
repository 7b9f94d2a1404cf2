import Crypto
package import PollerIdentity

/// An API key: its name, permissions and expiry.
///
/// The key itself is shown once, when it is created; only a digest is stored.
package struct AccessKey: Hashable, Sendable {
    /// The maximum number of keys in a cluster: every process holds them all.
    package static let countMax = 1000
    /// The longest name, in bytes, which fits a line of a list.
    private static let nameMax = 64
    /// The range of lifetimes of an expiring key; a longer one is probably a mistake.
    package static let lifetimes: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400 * 3660))

    package let id: KeyID
    /// The display name.
    package let name: String?
    package let role: KeyRole
    /// The permissions beyond its role.
    package let allowed: Set<Scope>
    package let accounts: AccountSet
    /// The creation time, by the store's clock.
    package let createdAt: Timestamp
    package let expiresAt: Timestamp?
    package let createdBy: String
    /// The last use, to the minute; `nil` before the first use.
    package let lastUsedAt: Timestamp?

    /// Creates a key.
    ///
    /// Errors: `InvalidInput` for `name` and `accounts`.
    package init(
        id: KeyID,
        name: String? = nil,
        role: KeyRole,
        allowed: Set<Scope> = [],
        accounts: AccountSet = .all,
        createdAt: Timestamp = Timestamp(ms: 0),
        expiresAt: Timestamp? = nil,
        createdBy: String,
        lastUsedAt: Timestamp? = nil
    ) throws(InvalidInput) {
        if let name {
            guard (1...Self.nameMax).contains(name.utf8.count),
                name.unicodeScalars.allSatisfy(Self.isPlain)
            else {
                throw InvalidInput(
                    "name",
                    "must be 1 to \(Self.nameMax) bytes of text without parentheses or "
                        + "invisible characters"
                )
            }
        }
        if case .some(let some) = accounts {
            guard (1...AccountSet.countMax).contains(some.count) else {
                throw InvalidInput(
                    "accounts",
                    "must name 1 to \(AccountSet.countMax) accounts; leave it out for all"
                )
            }
            if let forbidden = allowed.filter(\.isOfCluster).map(\.rawValue).min() {
                throw InvalidInput(
                    "allow",
                    "\(forbidden) applies to the whole cluster, so a key limited to "
                        + "accounts cannot have it"
                )
            }
        }
        self.id = id
        self.name = name
        self.role = role
        self.allowed = allowed
        self.accounts = accounts
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.createdBy = createdBy
        self.lastUsedAt = lastUsedAt
    }

    /// Returns a placeholder for a key whose record is unreadable.
    package static func unreadable(_ id: KeyID) -> AccessKey {
        AccessKey(id)
    }

    private init(_ id: KeyID) {
        (self.id, name, role, allowed, accounts) = (id, nil, .viewer, [], .some([]))
        (createdAt, expiresAt, createdBy) = (Timestamp(ms: 0), nil, "unreadable")
        lastUsedAt = nil
    }

    /// Whether a scalar is visible and keeps the text direction, and is not a parenthesis, which ends a name in lists.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        IdentifierSyntax.isVisible(scalar) && scalar != "(" && scalar != ")"
    }

    package func stored(at createdAt: Timestamp, lastUsedAt: Timestamp? = nil) -> AccessKey {
        AccessKey(self, createdAt: createdAt, lastUsedAt: lastUsedAt)
    }

    private init(_ key: AccessKey, createdAt: Timestamp, lastUsedAt: Timestamp?) {
        id = key.id
        name = key.name
        role = key.role
        allowed = key.allowed
        accounts = key.accounts
        self.createdAt = createdAt
        expiresAt = key.expiresAt
        createdBy = key.createdBy
        self.lastUsedAt = lastUsedAt
    }

    /// The caller that authenticates with it.
    package var caller: Caller {
        Caller(
            name: name.map { "\(id) (\($0))" } ?? id.description,
            scopes: role.scopes.union(allowed),
            accounts: accounts,
            endsAt: expiresAt,
            actor: AuditActor(name: auditName, key: id, role: role, accounts: accounts)
        )
    }

    /// The name in the audit trail.
    ///
    /// A key that is bound to accounts includes its ID, because its creator chose the name, which could be that of
    /// another key.
    private var auditName: String {
        guard let name else { return id.description }
        return accounts.isAll ? name : "\(name) (\(id))"
    }

    /// Whether it has expired.
    package func hasEnded(by now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    /// Whether it can always create keys: without such a key a locked-out operator could not restore access.
    package var isPermanentAdmin: Bool { role == .admin && accounts.isAll && expiresAt == nil }
}

/// The public ID of a key: `key_` and twelve characters.
package struct KeyID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Checks and wraps an ID from outside.
    package init(_ text: String) throws(InvalidInput) {
        let id = try IdentifierSyntax.check(text, field: "key", lengthMax: 64)
        guard id.hasPrefix("key_") else {
            throw InvalidInput("key", "must be the ID of a key (key_…)")
        }
        description = id
    }

    /// Wraps an ID from a store.
    package init(unchecked text: String) {
        description = text
    }
}

/// The full text of a key: `plr_`, the twelve characters of its ID, `_`, and 256 random bits in base64url.
///
/// The beginning contains the ID of a leaked key, and allows secret scanners to recognise it.
package struct KeyText: Sendable, CustomStringConvertible {
    /// The redacted text; see ``reveal``.
    package let description: String
    /// The key itself.
    package let reveal: String
    package let id: KeyID

    /// Creates a new key; its ID is derived from `seed`, if given.
    package init(using generator: inout some RandomNumberGenerator, seed: String? = nil) {
        // Only letters and digits, so that a double click selects the whole ID.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        let name =
            if let seed {
                // A slightly uneven distribution of letters does not matter for a name.
                String(
                    SHA256.hash(data: Array("poller key id\0\(seed)".utf8)).prefix(12).map {
                        alphabet[Int(truncatingIfNeeded: $0) % alphabet.count]
                    }
                )
            } else {
                String((0..<12).compactMap { _ in alphabet.randomElement(using: &generator) })
            }
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        id = KeyID(unchecked: "key_\(name)")
        reveal = "plr_\(name)_\(Base64URL.encode(secret))"
        description = "plr_\(name)_(redacted)"
    }

    /// The stored digest.
    package var digest: KeyDigest { KeyDigest(of: reveal) }
}

/// The stored form of a key: its SHA-256.
///
/// One round without salt is enough: keys are long and random, so a slow hash would not prevent guessing. It may be
/// looked up like any value: a client can choose the digest only by knowing the key, so the duration of the lookup
/// reveals nothing.
package struct KeyDigest: Hashable, Sendable {
    /// The 32 bytes in base64url.
    package let text: String

    package init(of key: some StringProtocol) {
        text = Base64URL.encode(Array(SHA256.hash(data: Array(key.utf8))))
    }

    /// Wraps a digest from a store.
    package init(unchecked text: String) {
        self.text = text
    }
}
