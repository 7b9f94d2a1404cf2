package import Logging
package import PollerIdentity
package import PollerQueue
import SafeNumbers
import ServiceLifecycle
import Synchronization

/// The keys that one process knows, for authentication.
///
/// *Problem.* Every request presents a key, and a revoked key must be useless a second later, in every process. A store
/// read per request would cost as much as the request, and no stored data would be readable while the store is
/// unavailable.
///
/// *Approach.* All keys are in memory, by digest, and the number of the store's last change is read twice a second.
/// While the store is unavailable the last known keys stay valid: authenticated callers keep access, and operations
/// that need the store fail anyway. The use of a key is recorded at most once a minute.
///
/// A cluster that has ever had a key is closed, even after the last key has expired: otherwise an expired key would
/// give access to every client. A new key is then created on the store with `pollerd key create`.
package final class KeyRing: Sendable {
    /// The longest time until a change is noticed.
    static let pace = Duration.milliseconds(500)
    /// The precision of a key's last use.
    private static let usedPace = Duration.seconds(60)

    /// The result of looking up a key's text.
    package enum Finding: Hashable, Sendable {
        case known(Caller)
        /// There is no such key, or it has expired or was revoked.
        case unknown
        /// The keys have not been read yet.
        case unreadable
    }

    /// The known keys of the file and of the store.
    private struct Known {
        /// The callers by the digests of the file's keys.
        var file: [KeyDigest: Caller]
        var version: Int64?
        var keys: [KeyDigest: AccessKey] = [:]
        var hasHadKeys = false
        /// The number of started reads, and the last one whose result was applied.
        var readsStarted = 0
        var lastAppliedRead = 0
    }

    private let store: (any KeyStore)?
    private let clock: any Clock<Duration>
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger
    private let known: Mutex<Known>
    /// The names (``Caller/name``) of callers that lost access; for one listener.
    package let revoked: AsyncStream<String>
    private let revocations: AsyncStream<String>.Continuation
    /// The listeners for the revocation of a name.
    private let waiters = Mutex<(last: Int, all: [Int: Waiter])>((0, [:]))

    /// A listener for the revocation of a name.
    private struct Waiter {
        let name: String
        let continuation: AsyncStream<Void>.Continuation
    }

    /// The keys that were used since the last record.
    private let used = Mutex<[KeyID: Timestamp]>([:])

    /// Creates a ring with the keys of a file and of a store.
    ///
    /// - Parameters:
    ///   - file: the callers by the digests of the file's keys.
    ///   - store: the store; `nil` for only the file's keys.
    ///   - clock: the clock of the read interval.
    ///   - wallClock: the clock of expiry.
    ///   - logger: receives failed reads of the store's keys, and changes.
    package init(
        file: [KeyDigest: Caller],
        store: (any KeyStore)?,
        clock: any Clock<Duration>,
        wallClock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.store = store
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        known = Mutex(Known(file: file, version: store == nil ? 0 : nil))
        (revoked, revocations) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(AccessKey.countMax)
        )
    }

    /// Whether there has never been a key, so that this machine is trusted; `nil` while it is unknown.
    package var isOpen: Bool? {
        known.withLock { known in
            if known.hasHadKeys || !known.file.isEmpty { return false }
            return known.version.map { $0 == 0 }
        }
    }

    /// Returns the time by which keys expire.
    package func now() -> Timestamp { wallClock() }

    /// Whether a key of the file can create others; it cannot be revoked through the API.
    package var fileCanCreateKeys: Bool {
        file.values.contains { $0.may(.manageKeys) && $0.accounts.isAll }
    }

    /// Rejects a name for a new key that the audit trail uses already: the system's own names and those of the file's
    /// keys, in any case.
    package func checkName(_ name: String?) throws(InvalidInput) {
        try AuditActor.checkName(name)
        guard let name else { return }
        let isTaken = file.values.contains { $0.name.lowercased() == name.lowercased() }
        guard isTaken else { return }
        throw InvalidInput("name", "is the name of a key in the server's file")
    }

    /// Looks up a key.
    package func find(_ text: some StringProtocol) -> Finding {
        guard text.utf8.count <= 200 else { return .unknown }
        let digest = KeyDigest(of: text)
        let (caller, key, isRead) = known.withLock {
            ($0.file[digest], $0.keys[digest], $0.version != nil)
        }
        if let caller { return .known(caller) }
        guard let key else { return isRead ? .unknown : .unreadable }
        let now = wallClock()
        if key.hasEnded(by: now) { return .unknown }
        used.withLock { used in
            if used[key.id] == nil { used[key.id] = now }
        }
        return .known(key.caller)
    }

    private var file: [KeyDigest: Caller] { known.withLock(\.file) }

    /// Replaces the keys loaded from the file.
    ///
    /// Callers that authenticated with a removed key lose access.
    package func replace(file: [KeyDigest: Caller]) {
        let removed: [String] = known.withLock { known in
            var removed = known.file.filter { file[$0.key] != $0.value }.map(\.value.name)
            // Callers without a key lose access.
            if known.file.isEmpty, !file.isEmpty, !known.hasHadKeys {
                removed.append(Caller.local.name)
            }
            known.file = file
            return removed
        }
        for name in removed { revocations.yield(name) }
        if !removed.isEmpty { end(Set(removed)) }
    }

    /// Reads the keys if they have changed; call it at once after a change in this process.
    package func refresh() async throws(StoreError) {
        guard let store else { return }
        let readNumber = known.withLock { known in
            known.readsStarted += 1
            return known.readsStarted
        }
        let version = try await store.version()
        guard known.withLock({ $0.version != version }) else { return }
        let register = try await store.register()
        let keys = Dictionary(register.keys.map { ($0.digest, $0.key) }) { first, _ in first }
        let removed: [String] = known.withLock { known in
            // The result is older than that of a read that started later.
            guard readNumber > known.lastAppliedRead else { return [] }
            known.lastAppliedRead = readNumber
            var removed = known.keys.filter { keys[$0.key] == nil }.map(\.value.caller.name)
            // Callers without a key lose access.
            if !known.hasHadKeys, register.version > 0 { removed.append(Caller.local.name) }
            known.version = register.version
            known.keys = keys
            known.hasHadKeys = known.hasHadKeys || register.version > 0
            return removed
        }
        for name in removed { revocations.yield(name) }
        if !removed.isEmpty { end(Set(removed)) }
    }

    /// Returns a stream that ends when a caller with this name (``Caller/name``) loses access; for any number of
    /// listeners.
    ///
    /// A listener that starts before it checks the key misses nothing.
    package func revocation(of name: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let number = waiters.withLock { waiters in
            waiters.last += 1
            waiters.all[waiters.last] = Waiter(name: name, continuation: continuation)
            return waiters.last
        }
        continuation.onTermination = { [weak self] _ in
            self?.waiters.withLock { _ = $0.all.removeValue(forKey: number) }
        }
        return stream
    }

    private func end(_ names: Set<String>) {
        let ended = waiters.withLock { $0.all.values.filter { names.contains($0.name) } }
        for waiter in ended { waiter.continuation.finish() }
    }

    private func note() async {
        let seen = used.withLock { used in
            defer { used = [:] }
            return used
        }
        // A full store accepts no records; further uses of the key are recorded later.
        if !seen.isEmpty { try? await store?.note(used: seen) }
    }
}

extension KeyRing: Service {
    /// Follows the store's keys until shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            var rounds = 0
            var isUnavailable = false
            while !Task.isCancelled {
                do {
                    try await refresh()
                    if rounds % Int(saturating: Self.usedPace / Self.pace) == 0 { await note() }
                    isUnavailable = false
                } catch {
                    // Logged once per outage, because every other failure reports it repeatedly.
                    if !isUnavailable {
                        logger.warning("keys not read", metadata: ["error": "\(error)"])
                    }
                    isUnavailable = true
                }
                rounds += 1
                // If the sleep is cancelled, the loop's condition ends the loop.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }
}
