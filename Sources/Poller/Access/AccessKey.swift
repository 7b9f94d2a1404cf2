import Crypto
package import PollerIdentity

/// A key of the API: who it is for, what it may do, and until when.
///
/// The key itself is shown once, when it is made; what is kept is a digest of it.
package struct AccessKey: Hashable, Sendable {
    /// Keys of a cluster: every process holds them all.
    package static let countMax = 1000
    /// The longest name, in bytes: a line of a list.
    private static let nameMax = 64
    /// How long a key with an end may be good for: a year too many is a typing mistake.
    package static let lifetimes: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400 * 3660))

    package let id: KeyID
    /// What people call it.
    package let name: String?
    package let role: KeyRole
    /// What it may do beyond its role.
    package let allowed: Set<Scope>
    package let accounts: AccountSet
    /// By the store's clock.
    package let createdAt: Timestamp
    package let expiresAt: Timestamp?
    /// Who made it.
    package let createdBy: String
    /// To the minute; nil when nobody has used it.
    package let lastUsedAt: Timestamp?

    /// Describes a key.
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
                    field: "name",
                    message: "must be 1 to \(Self.nameMax) bytes of text without parentheses and "
                        + "what nobody sees"
                )
            }
        }
        if case .some(let some) = accounts {
            guard (1...AccountSet.countMax).contains(some.count) else {
                throw InvalidInput(
                    field: "accounts",
                    message: "must name 1 to \(AccountSet.countMax) accounts; leave it out for all"
                )
            }
            if let vain = allowed.filter(\.isOfCluster).map(\.rawValue).min() {
                throw InvalidInput(
                    field: "allow",
                    message: "\(vain) is of the whole cluster: a key that is bound has it never"
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

    /// A key of which no more can be read than that it is one.
    package static func unreadable(_ id: KeyID) -> AccessKey {
        AccessKey(id)
    }

    private init(_ id: KeyID) {
        (self.id, name, role, allowed, accounts) = (id, nil, .viewer, [], .some([]))
        (createdAt, expiresAt, createdBy) = (Timestamp(ms: 0), nil, "unreadable")
        lastUsedAt = nil
    }

    /// Letters, digits, signs and spaces: nothing that hides, turns the line around, or looks like the
    /// end of a name.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        IdentifierSyntax.isSeen(scalar) && scalar != "(" && scalar != ")"
    }

    /// The same key as the store knows it.
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

    /// Whoever shows it.
    package var caller: Caller {
        Caller(
            name: name.map { "\(id) (\($0))" } ?? id.description,
            scopes: role.scopes.union(allowed),
            accounts: accounts,
            endsAt: expiresAt,
            actor: AuditActor(name: auditName, key: id, role: role, accounts: accounts)
        )
    }

    /// What it is called in the audit trail: one that is bound to accounts with its id, because who has
    /// made it chose the name, and must not be taken for somebody else of that name.
    private var auditName: String {
        guard let name else { return id.description }
        return accounts.isAll ? name : "\(name) (\(id))"
    }

    /// Whether its time is over.
    package func hasEnded(by now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    /// Whether it is one with which keys can always be made: without it nobody is let in again.
    package var isLasting: Bool { role == .admin && accounts.isAll && expiresAt == nil }
}

/// A key's id, which is no secret: `key_` and twelve characters.
package struct KeyID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Checks and wraps an id from outside.
    package init(_ text: String) throws(InvalidInput) {
        let id = try IdentifierSyntax.check(text, field: "key", lengthMax: 64)
        guard id.hasPrefix("key_") else {
            throw InvalidInput(field: "key", message: "must be the id of a key, key_…")
        }
        description = id
    }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}

/// A key as its holder has it: `plr_`, twelve characters that its id has too, `_`, and 256 random
/// bits in base64url.
///
/// The beginning tells a leaked key's id, and a scanner of secrets what it has found.
package struct KeyText: Sendable, CustomStringConvertible {
    /// Redacted; see ``reveal``.
    package let description: String
    /// The key itself.
    package let reveal: String
    package let id: KeyID

    /// A new key, with an id that is made of `seed` where there is one.
    package init(using chance: inout some RandomNumberGenerator, seed: String? = nil) {
        // Letters and digits alone, so that a double click takes an id whole.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        let name =
            if let seed {
                // That some letters come a little more often does not matter to a name.
                String(
                    SHA256.hash(data: Array("poller key id\0\(seed)".utf8)).prefix(12).map {
                        alphabet[Int(truncatingIfNeeded: $0) % alphabet.count]
                    }
                )
            } else {
                String((0..<12).compactMap { _ in alphabet.randomElement(using: &chance) })
            }
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &chance) }
        id = KeyID(unchecked: "key_\(name)")
        reveal = "plr_\(name)_\(Base64URL.encode(secret))"
        description = "plr_\(name)_(redacted)"
    }

    /// What is kept of it.
    package var digest: KeyDigest { KeyDigest(of: reveal) }
}

/// What is kept of a key: its SHA-256.
///
/// One round without salt is enough: keys are long and random, so there is nothing to guess that a
/// slow hash would slow down. It may be looked up like any value: who can choose the digest that is
/// looked up knows the key already, so the time a look takes tells nothing of the keys there are.
package struct KeyDigest: Hashable, Sendable {
    /// The 32 bytes in base64url.
    package let text: String

    /// The digest of a key.
    package init(of key: some StringProtocol) {
        text = Base64URL.encode(Array(SHA256.hash(data: Array(key.utf8))))
    }

    /// Wraps a digest read back from a store.
    package init(unchecked text: String) {
        self.text = text
    }
}
