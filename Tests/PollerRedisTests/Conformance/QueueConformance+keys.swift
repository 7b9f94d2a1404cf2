import PollerIdentity
import PollerOperations
import PollerTesting

extension QueueConformance {
    /// The API keys.
    static let accessKeys: [ConformanceCase] = [
        Case("a key is read as created, with the store's time") { bench in
            try await bench.advance(ms: 1234)
            let store = try bench.redis.keys
            let wanted = try AccessKey(
                id: KeyID(unchecked: "key_full"),
                name: "shop \"1\" ä",
                role: .operator,
                allowed: [.charge, .readSecrets],
                accounts: .some([.main, AccountID("acme")]),
                expiresAt: Timestamp(ms: 9_999_999_999_999),
                createdBy: "key_other"
            )
            let digest = KeyDigest(of: "plr_full")
            guard case .created(let made) = try await store.create(wanted, digest: digest) else {
                throw ConformanceFailure(message: "the key was not created")
            }
            try equal(made, wanted.stored(at: made.createdAt), "the created key")
            try equal(made.createdAt.ms > 0, true, "the key has the store's time")
            let register = try await store.register()
            try equal(register.keys.map(\.key), [made], "the stored keys")
            try equal(register.keys.map(\.digest), [digest], "its digest")
            try equal(register.version, try await store.version(), "version")
        },
        Case("the version of the keys grows with every change and survives the last key") { bench in
            let store = try bench.redis.keys
            try equal(try await store.version(), 0, "the version without keys")
            var seen: [Int64] = []
            for name in ["a", "b"] {
                _ = try await store.create(bench.key(name), digest: KeyDigest(of: name))
                seen.append(try await store.version())
            }
            for name in ["a", "b"] {
                _ = try await store.revoke(KeyID(unchecked: "key_\(name)"), mayBeLast: true)
                seen.append(try await store.version())
            }
            try equal(seen, Array(Set(seen)).sorted(), "versions")
            let register = try await store.register()
            try equal(register.keys.count, 0, "keys left")
            try equal(register.version, seen.last, "the version after all keys were revoked")
        },
        Case("the last admin key without an expiry cannot be revoked") { bench in
            let store = try bench.redis.keys
            let others = [
                try bench.key("viewer", role: .viewer),
                try bench.key("bound", accounts: .some([.main])),
                try bench.key("ending", expiresAt: Timestamp(ms: 9_999_999_999_999)),
            ]
            for key in others + [try bench.key("a"), try bench.key("b")] {
                _ = try await store.create(key, digest: KeyDigest(of: key.id.description))
            }
            let (a, b) = (KeyID(unchecked: "key_a"), KeyID(unchecked: "key_b"))
            guard case .revoked = try await store.revoke(a, mayBeLast: false) else {
                throw ConformanceFailure(message: "one of two could not be revoked")
            }
            try equal(try await store.revoke(a, mayBeLast: false), .unknown, "again")
            let version = try await store.version()
            try equal(try await store.revoke(b, mayBeLast: false), .lastAdmin, "the last")
            try equal(try await store.version(), version, "the version without a change")
            for key in others {
                guard case .revoked = try await store.revoke(key.id, mayBeLast: false) else {
                    throw ConformanceFailure(message: "\(key.id) could not be revoked")
                }
            }
            guard case .revoked = try await store.revoke(b, mayBeLast: true) else {
                throw ConformanceFailure(message: "the last key could not be revoked with consent")
            }
        },
        Case("the last use is stored only for existing keys") { bench in
            let store = try bench.redis.keys
            _ = try await store.create(bench.key("a"), digest: KeyDigest(of: "a"))
            let at = Timestamp(ms: 77)
            let (a, gone) = (KeyID(unchecked: "key_a"), KeyID(unchecked: "key_gone"))
            let version = try await store.version()
            try await store.note(used: [a: at, gone: at])
            let register = try await store.register()
            try equal(register.keys.map(\.key.lastUsedAt), [at], "last used")
            try equal(register.version, version, "the version without a change")
            guard case .revoked(let last) = try await store.revoke(a, mayBeLast: true) else {
                throw ConformanceFailure(message: "the key could not be revoked")
            }
            try equal(last.lastUsedAt, at, "the last use of the revoked key")
        },
        Case("a key created again under its ID replaces the first one") { bench in
            let store = try bench.redis.keys
            for number in 0..<RedisHarness.keysMax {
                _ = try await store.create(
                    bench.key("n\(number)"),
                    digest: KeyDigest(of: "n\(number)")
                )
            }
            let version = try await store.version()
            let again = try await store.create(bench.key("n0"), digest: KeyDigest(of: "again"))
            guard case .created = again else {
                throw ConformanceFailure(message: "the same key was counted twice")
            }
            let register = try await store.register()
            try equal(register.keys.count, RedisHarness.keysMax, "keys")
            let digests = register.keys.map(\.digest)
            try equal(digests.contains(KeyDigest(of: "again")), true, "the new key is valid")
            try equal(digests.contains(KeyDigest(of: "n0")), false, "the first key is valid")
            try equal(register.version > version, true, "the version has risen")
        },
        Case("the number of keys bound to some accounts has a limit") { bench in
            let store = try bench.redis.keys
            let mine: AccountSet = .some([try AccountID("a"), try AccountID("b")])
            let accountLimit = AccountKeyLimit(of: mine, countMax: 2)
            func make(_ name: String, _ accounts: AccountSet) async throws -> KeyCreation {
                let key = try bench.key(name, accounts: accounts)
                return try await store.create(
                    key,
                    digest: KeyDigest(of: name),
                    within: accountLimit
                )
            }
            // Keys for other accounts, or for these and others together, do not count.
            _ = try await make("all", .all)
            _ = try await make("more", .some([try AccountID("a"), try AccountID("c")]))
            _ = try await make("one", .some([try AccountID("a")]))
            guard case .created = try await make("two", mine) else {
                throw ConformanceFailure(message: "the second key was rejected")
            }
            try equal(try await make("three", mine), .tooManyOfAccounts(2), "the third key")
            guard case .created = try await make("two", mine) else {
                throw ConformanceFailure(message: "the same key was counted twice")
            }
            let free = try await store.create(bench.key("free"), digest: KeyDigest(of: "free"))
            guard case .created = free else {
                throw ConformanceFailure(message: "the account limit applied to a key without one")
            }
        },
        Case("the total number of keys is limited") { bench in
            let store = try bench.redis.keys
            for number in 0..<RedisHarness.keysMax {
                _ = try await store.create(
                    bench.key("n\(number)"),
                    digest: KeyDigest(of: "n\(number)")
                )
            }
            let one = try await store.create(bench.key("more"), digest: KeyDigest(of: "more"))
            try equal(one, .tooMany, "one more")
            let n0 = KeyID(unchecked: "key_n0")
            _ = try await store.revoke(n0, mayBeLast: false)
            let now = try await store.register().keys.first?.key.createdAt ?? Timestamp(ms: 0)
            let short = try bench.key("short", expiresAt: now + .seconds(60))
            _ = try await store.create(short, digest: KeyDigest(of: "short"))
            let before = try await store.create(bench.key("more"), digest: KeyDigest(of: "more"))
            try equal(before, .tooMany, "one more next to a key that will expire")
            try await bench.advance(ms: 120_000)
            guard
                case .created = try await store.create(
                    bench.key("more"),
                    digest: KeyDigest(of: "more")
                )
            else { throw ConformanceFailure(message: "an expired key was counted") }
            let ids = try await store.register().keys.map(\.key.id)
            try equal(ids.contains(short.id), false, "the expired key is listed")
        },
    ]
}

extension ConformanceBench {
    fileprivate func key(
        _ name: String,
        role: KeyRole = .admin,
        accounts: AccountSet = .all,
        expiresAt: Timestamp? = nil
    ) throws -> AccessKey {
        try AccessKey(
            id: KeyID(unchecked: "key_\(name)"),
            role: role,
            accounts: accounts,
            expiresAt: expiresAt,
            createdBy: "test"
        )
    }
}
