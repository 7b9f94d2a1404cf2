import Poller
import PollerTesting
import Synchronization
import Testing

@Suite("Keys as a process knows them")
struct KeyRingTests {
    private let store: MemoryKeyStore
    private let time = VirtualTime()

    init() {
        store = MemoryKeyStore(time: time)
    }

    private func ring(
        file: [KeyDigest: Caller] = [:],
        _ store: (any KeyStore)? = nil
    ) -> KeyRing {
        KeyRing(
            file: file,
            store: store ?? self.store,
            clock: ContinuousClock(),
            wallClock: { [time] in time.now },
            logger: Sample.quiet
        )
    }

    private func make(
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

    @Test("is open before there is a key, closed from then on, also when the last one is gone")
    func opening() async throws {
        let ring = ring()
        #expect(ring.isOpen == nil && ring.find("a") == .unreadable)
        try await ring.refresh()
        #expect(ring.isOpen == true && ring.find("a") == .unknown)
        let id = try await make("a")
        try await ring.refresh()
        #expect(ring.isOpen == false)
        var revoked = ring.revoked.makeAsyncIterator()
        #expect(await revoked.next() == Caller.local.name)
        _ = try await store.revoke(id, mayBeLast: true)
        try await ring.refresh()
        #expect(ring.isOpen == false && ring.find("a") == .unknown)
        let later = self.ring()
        try await later.refresh()
        #expect(later.isOpen == false, "a process that begins later knows it, too")
    }

    @Test("a key is known after the next look, and unknown after the one behind its revocation")
    func following() async throws {
        let ring = ring()
        let id = try await make("a", role: .support, accounts: .some([.main]))
        try await ring.refresh()
        guard case .known(let caller) = ring.find("a") else {
            Issue.record("not known")
            return
        }
        #expect(caller.name == "key_a (a)" && caller.accounts == .some([.main]))
        #expect(caller.may(.poll) && !caller.may(.writeWatches))
        #expect(!caller.may(.readCluster), "the whole cluster is nobody's who has one account")
        #expect(ring.find("b") == .unknown)
        _ = try await store.revoke(id, mayBeLast: true)
        try await ring.refresh()
        #expect(ring.find("a") == .unknown)
        var revoked = ring.revoked.makeAsyncIterator()
        #expect(await revoked.next() == Caller.local.name)
        #expect(await revoked.next() == "key_a (a)")
    }

    @Test(
        "keys of the file are exchanged while it runs, and who showed an old one is let in no more"
    )
    func exchanging() async throws {
        func keys(_ names: String...) -> [KeyDigest: Caller] {
            Dictionary(
                uniqueKeysWithValues: names.map {
                    (KeyDigest(of: $0), Caller(name: $0, scopes: [.poll], accounts: .all))
                }
            )
        }
        let ring = ring(file: keys("first", "second"))
        try await ring.refresh()
        let waits = ring.revocation(of: "first")
        ring.replace(file: keys("second", "third"))
        // Who waits for news under it is not kept waiting.
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

        let open = self.ring()
        try await open.refresh()
        #expect(open.isOpen == true)
        open.replace(file: keys("first"))
        #expect(open.isOpen == false)
        var gone = open.revoked.makeAsyncIterator()
        #expect(
            await gone.next() == Caller.local.name,
            "nobody without a key is let in from then on"
        )
    }

    /// A store whose answers wait until they are let go.
    private final class SlowKeys: KeyStore {
        let store: MemoryKeyStore
        let isHolding = Mutex(false)

        init(_ store: MemoryKeyStore) {
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
                // Until another look has been answered; a look that is cancelled ends here too.
                try? await eventually("another look") { isHolding.withLock { $0 } }
            }
            return register
        }

        func create(
            _ key: AccessKey,
            digest: KeyDigest,
            within share: KeyShare?
        ) async throws(StoreError) -> KeyCreation {
            try await store.create(key, digest: digest, within: share)
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

    @Test("an answer that was overtaken takes no key away that was made meanwhile")
    func overtaken() async throws {
        let slow = SlowKeys(store)
        let ring = ring(slow)
        _ = try await make("a")
        slow.isHolding.withLock { $0 = true }
        async let early: Void = ring.refresh()
        try await eventually("the early look is under way") { !slow.isHolding.withLock { $0 } }
        _ = try await make("b")
        try await ring.refresh()
        slow.isHolding.withLock { $0 = true }
        try await early
        guard case .known = ring.find("b") else {
            Issue.record("it was taken away")
            return
        }
    }

    @Test("a key ends by itself")
    func expiry() async throws {
        let ring = ring()
        let end = time.now.ms + 1000
        _ = try await make("a", expiresAt: Timestamp(ms: end))
        try await ring.refresh()
        #expect(ring.find("a") != .unknown)
        time.advance(by: .milliseconds(1000))
        #expect(ring.find("a") == .unknown && ring.isOpen == false)
    }

    @Test("keys of a file close it without a store")
    func ofFile() {
        let caller = Caller(name: "key 1", scopes: [.readWatches], accounts: .all)
        let ring = ring(file: [KeyDigest(of: "secret"): caller])
        #expect(ring.isOpen == false && ring.find("secret") == .known(caller))
        #expect(ring.find("other") == .unreadable, "the store may have it")
    }

    @Test("follows the store by itself")
    func running() async throws {
        let ring = ring()
        let running = Task { await ring.run() }
        defer { running.cancel() }
        _ = try await make("a")
        try await eventually("the key is known") {
            if case .known = ring.find("a") { true } else { false }
        }
        #expect(ring.isOpen == false)
    }

    @Test("new keys are long, and none is like another")
    func texts() {
        var chance = SystemRandomNumberGenerator()
        let made = (0..<100).map { _ in KeyText(using: &chance) }
        #expect(Set(made.map(\.reveal)).count == 100 && Set(made.map(\.id)).count == 100)
        for key in made {
            #expect(key.reveal.contains(/^plr_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}$/))
            #expect(key.id.description == "key_" + key.reveal.dropFirst(4).prefix(12))
            #expect(!"\(key)".contains(key.reveal.suffix(20)))
        }
    }

    @Test("each role may do what the one before may; charging, secrets and keys are the admin's")
    func roles() {
        for (lesser, greater) in zip(KeyRole.allCases, KeyRole.allCases.dropFirst()) {
            #expect(lesser.scopes.isStrictSubset(of: greater.scopes))
        }
        #expect(KeyRole.operator.scopes.isDisjoint(with: [.charge, .readSecrets, .manageKeys]))
        #expect(KeyRole.viewer.scopes.allSatisfy { $0.rawValue.hasSuffix(":read") })
        #expect(KeyRole.admin.scopes == Set(Scope.allCases))
    }
}
