import Foundation
import Logging
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@Suite("KeyRing")
struct KeyRingTests {
    /// A key store on Redis, and the clock of the key rings that read it.
    private struct Keys {
        let store: any KeyStore
        // The store's own clock begins there, too.
        let time = VirtualTime(
            start: Timestamp(ms: Int64(Date().timeIntervalSince1970 * 1000))
        )

        func ring(
            file: [KeyDigest: Caller] = [:],
            _ store: (any KeyStore)? = nil
        ) -> KeyRing {
            KeyRing(
                file: file,
                store: store ?? self.store,
                clock: ContinuousClock(),
                wallClock: { [time] in time.now },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func make(
            _ name: String,
            role: KeyRole = .admin,
            accounts: AccountSet = .all,
            expiresAt: Timestamp? = nil
        ) async throws -> KeyID {
            let id = KeyID(unchecked: "key_\(name)")
            let key = try AccessKey(
                id: id,
                name: name,
                role: role,
                accounts: accounts,
                expiresAt: expiresAt,
                createdBy: "test"
            )
            _ = try await store.create(key, digest: KeyDigest(of: name))
            return id
        }
    }

    private func withKeys(_ body: (Keys) async throws -> Void) async throws {
        try await withRedis { client in
            try await body(Keys(store: try await RedisHarness(client: client).keys))
        }
    }

    @Test(
        "the API is open until the first key is created and stays closed after the last one is revoked"
    )
    func opening() async throws {
        try await withKeys { keys in
            let ring = keys.ring()
            #expect(ring.isOpen == nil && ring.find("a") == .unreadable)
            try await ring.refresh()
            #expect(ring.isOpen == true && ring.find("a") == .unknown)
            let id = try await keys.make("a")
            try await ring.refresh()
            #expect(ring.isOpen == false)
            var revoked = ring.revoked.makeAsyncIterator()
            #expect(await revoked.next() == Caller.local.name)
            _ = try await keys.store.revoke(id, mayBeLast: true)
            try await ring.refresh()
            #expect(ring.isOpen == false && ring.find("a") == .unknown)
            let later = keys.ring()
            try await later.refresh()
            #expect(later.isOpen == false, "a process that starts later is closed too")
        }
    }

    @Test("a refresh adds new keys and removes revoked ones")
    func following() async throws {
        try await withKeys { keys in
            let ring = keys.ring()
            let id = try await keys.make("a", role: .support, accounts: .some([.main]))
            try await ring.refresh()
            guard case .known(let caller) = ring.find("a") else { return fail("not known") }
            #expect(caller.name == "key_a (a)" && caller.accounts == .some([.main]))
            #expect(caller.may(.poll) && !caller.may(.writeWatches))
            #expect(!caller.may(.readCluster), "a key of one account cannot read the cluster")
            #expect(ring.find("b") == .unknown)
            _ = try await keys.store.revoke(id, mayBeLast: true)
            try await ring.refresh()
            #expect(ring.find("a") == .unknown)
            var revoked = ring.revoked.makeAsyncIterator()
            #expect(await revoked.next() == Caller.local.name)
            #expect(await revoked.next() == "key_a (a)")
        }
    }

    @Test(
        "replacing the keys of the file closes connections that used a removed key"
    )
    func exchanging() async throws {
        try await withKeys { keys in
            func callers(_ names: String...) -> [KeyDigest: Caller] {
                Dictionary(
                    uniqueKeysWithValues: names.map {
                        (KeyDigest(of: $0), Caller(name: $0, scopes: [.poll], accounts: .all))
                    }
                )
            }
            let ring = keys.ring(file: callers("first", "second"))
            try await ring.refresh()
            let waits = ring.revocation(of: "first")
            ring.replace(file: callers("second", "third"))
            // The stream of its revocation ends.
            for await _ in waits {}
            #expect(ring.find("first") == .unknown)
            for name in ["second", "third"] {
                guard case .known(let caller) = ring.find(name) else {
                    Issue.record("\(name) is not known")
                    continue
                }
                #expect(caller.name == name)
            }
            var revoked = ring.revoked.makeAsyncIterator()
            #expect(await revoked.next() == "first")

            let open = keys.ring()
            try await open.refresh()
            #expect(open.isOpen == true)
            open.replace(file: callers("first"))
            #expect(open.isOpen == false)
            var gone = open.revoked.makeAsyncIterator()
            #expect(
                await gone.next() == Caller.local.name,
                "connections without a key are closed"
            )
        }
    }

    /// A store that delays one response until the test releases it.
    private final class SlowKeys: KeyStore {
        let store: any KeyStore
        let isHolding = Mutex(false)

        init(_ store: any KeyStore) {
            self.store = store
        }

        func version() async throws(StoreError) -> Int64 { try await store.version() }

        func register() async throws(StoreError) -> KeyRegister {
            let register = try await store.register()
            let mustWait = isHolding.withLock { isHolding in
                defer { isHolding = false }
                return isHolding
            }
            if mustWait {
                // Waits until a later refresh has its response; a cancelled refresh ends here too.
                try? await eventually("a later refresh") { isHolding.withLock { $0 } }
            }
            return register
        }

        func create(
            _ key: AccessKey,
            digest: KeyDigest,
            within accountLimit: AccountKeyLimit?
        ) async throws(StoreError) -> KeyCreation {
            try await store.create(key, digest: digest, within: accountLimit)
        }

        func revoke(
            _ id: KeyID,
            mayBeLast: Bool
        ) async throws(StoreError) -> KeyRevocation {
            try await store.revoke(id, mayBeLast: mayBeLast)
        }

        func note(used: [KeyID: Timestamp]) async throws(StoreError) {
            try await store.note(used: used)
        }
    }

    @Test("a late response of the store does not remove a key created in the meantime")
    func overtaken() async throws {
        try await withKeys { keys in
            let slow = SlowKeys(keys.store)
            let ring = keys.ring(slow)
            _ = try await keys.make("a")
            slow.isHolding.withLock { $0 = true }
            async let early: Void = ring.refresh()
            try await eventually("the first refresh has read the store") {
                !slow.isHolding.withLock { $0 }
            }
            _ = try await keys.make("b")
            try await ring.refresh()
            slow.isHolding.withLock { $0 = true }
            try await early
            guard case .known = ring.find("b") else { return fail("the key was removed") }
        }
    }

    @Test("a key is unknown after it has expired")
    func expiry() async throws {
        try await withKeys { keys in
            let ring = keys.ring()
            let end = keys.time.now.ms + 1000
            _ = try await keys.make("a", expiresAt: Timestamp(ms: end))
            try await ring.refresh()
            #expect(ring.find("a") != .unknown)
            keys.time.advance(by: .milliseconds(1000))
            #expect(ring.find("a") == .unknown && ring.isOpen == false)
        }
    }

    @Test("keys from the file close the API before the store is read")
    func ofFile() async throws {
        try await withKeys { keys in
            let caller = Caller(name: "key 1", scopes: [.readWatches], accounts: .all)
            let ring = keys.ring(file: [KeyDigest(of: "secret"): caller])
            #expect(ring.isOpen == false && ring.find("secret") == .known(caller))
            #expect(ring.find("other") == .unreadable, "the store may have the key")
        }
    }

    @Test("a running key ring finds new keys in the store")
    func running() async throws {
        try await withKeys { keys in
            let ring = keys.ring()
            let running = Task { await ring.run() }
            defer { running.cancel() }
            _ = try await keys.make("a")
            try await eventually("the key is known") {
                if case .known = ring.find("a") { true } else { false }
            }
            #expect(ring.isOpen == false)
        }
    }

    @Test("new keys are long and unique")
    func texts() {
        var generator = SystemRandomNumberGenerator()
        let made = (0..<100).map { _ in KeyText(using: &generator) }
        #expect(Set(made.map(\.reveal)).count == 100 && Set(made.map(\.id)).count == 100)
        for key in made {
            #expect(key.reveal.contains(/^plr_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}$/))
            #expect(key.id.description == "key_" + key.reveal.dropFirst(4).prefix(12))
            #expect(!"\(key)".contains(key.reveal.suffix(20)))
        }
    }

    @Test(
        "each role has all scopes of the previous role; only admins charge, read secrets and manage keys"
    )
    func roles() {
        for (lesser, greater) in zip(KeyRole.allCases, KeyRole.allCases.dropFirst()) {
            #expect(lesser.scopes.isStrictSubset(of: greater.scopes))
        }
        #expect(KeyRole.operator.scopes.isDisjoint(with: [.charge, .readSecrets, .manageKeys]))
        #expect(KeyRole.viewer.scopes.allSatisfy { $0.rawValue.hasSuffix(":read") })
        #expect(KeyRole.admin.scopes == Set(Scope.allCases))
    }
}
