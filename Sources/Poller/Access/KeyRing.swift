package import Logging
package import PollerIdentity
package import PollerQueue
import SafeNumbers
import ServiceLifecycle
import Synchronization

/// The keys as one process knows them, for whoever has to let somebody in.
///
/// *Problem.* Every request shows a key, and a key that is revoked must open nothing a second later,
/// in every process; yet a look at the store for each request would cost as much as the request, and
/// nobody could read what is kept while the store is away.
///
/// *Approach.* All keys are known here, by digest, and the store is asked twice a second for the number
/// of its last change. While it is away the keys known last go on: who was let in still is, and
/// nothing that needs the store works anyway. When a key was used is noted once a minute at most.
///
/// A cluster that has ever had a key is closed, also when the last one has ended: otherwise a key that
/// runs out would open the door to everybody. A new key is then made beside the store, by
/// `pollerd key create`.
package final class KeyRing: Sendable {
    /// How long a change may go unnoticed.
    static let pace = Duration.milliseconds(500)
    /// How exactly it is told when a key was used last.
    private static let usedPace = Duration.seconds(60)

    /// What a look at a key's text comes to.
    package enum Finding: Hashable, Sendable {
        case known(Caller)
        /// Nobody has such a key, or it has ended or was revoked.
        case unknown
        /// The keys have not been read yet.
        case unreadable
    }

    /// What is known of the file's keys and the store's.
    private struct Known {
        /// What each digest of the file's keys may do.
        var file: [KeyDigest: Caller]
        var version: Int64?
        var keys: [KeyDigest: AccessKey] = [:]
        var hasHadKeys = false
        /// Looks that were begun, and the last one whose answer counts.
        var looks = 0
        var lastLook = 0
    }

    private let store: (any KeyStore)?
    private let clock: any Clock<Duration>
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger
    private let known: Mutex<Known>
    /// The names (``Caller/name``) of whom is not let in any more; for one listener.
    package let revoked: AsyncStream<String>
    private let revocations: AsyncStream<String>.Continuation
    /// Who waits for the end of a name.
    private let waiters = Mutex<(last: Int, all: [Int: Waiter])>((0, [:]))

    /// Somebody who wants to know when a name ends.
    private struct Waiter {
        let name: String
        let continuation: AsyncStream<Void>.Continuation
    }

    /// Of keys that were used since that was noted.
    private let used = Mutex<[KeyID: Timestamp]>([:])

    /// The keys of a file and of a store.
    ///
    /// - Parameters:
    ///   - file: what each digest of the file's keys may do.
    ///   - store: nil where there is none: then the file's keys are all.
    ///   - clock: for the pace.
    ///   - wallClock: tells whether a key has ended.
    ///   - logger: told when the store's keys cannot be read, and of changes.
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

    /// Whether there is no key and never was one, so that this machine is trusted; nil while nobody
    /// can tell.
    package var isOpen: Bool? {
        known.withLock { known in
            if known.hasHadKeys || !known.file.isEmpty { return false }
            return known.version.map { $0 == 0 }
        }
    }

    /// The time by which keys end.
    package func now() -> Timestamp { wallClock() }

    /// Whether a key of the file can make others, which nobody can revoke from here.
    package var fileMakesKeys: Bool {
        file.values.contains { $0.may(.manageKeys) && $0.accounts.isAll }
    }

    /// Refuses a name for a new key that is somebody else's already in the audit trail: the system's own
    /// names and those of the file's keys, whatever the case.
    package func checkName(_ name: String?) throws(InvalidInput) {
        try AuditActor.checkName(name)
        guard let name else { return }
        let isTaken = file.values.contains { $0.name.lowercased() == name.lowercased() }
        guard isTaken else { return }
        throw InvalidInput(field: "name", message: "is that of a key in the server's file")
    }

    /// Looks a key up.
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

    /// From now on these are the keys of the file: who has shown another one is not let in any more.
    package func replace(file: [KeyDigest: Caller]) {
        let gone: [String] = known.withLock { known in
            var gone = known.file.filter { file[$0.key] != $0.value }.map(\.value.name)
            // Who came in without a key is not let in any more.
            if known.file.isEmpty, !file.isEmpty, !known.hasHadKeys {
                gone.append(Caller.local.name)
            }
            known.file = file
            return gone
        }
        for name in gone { revocations.yield(name) }
        if !gone.isEmpty { end(Set(gone)) }
    }

    /// Reads the keys when they have changed; who has changed some here calls it at once.
    package func refresh() async throws(StoreError) {
        guard let store else { return }
        let look = known.withLock { known in
            known.looks += 1
            return known.looks
        }
        let version = try await store.version()
        guard known.withLock({ $0.version != version }) else { return }
        let register = try await store.register()
        let keys = Dictionary(register.keys.map { ($0.digest, $0.key) }) { first, _ in first }
        let gone: [String] = known.withLock { known in
            // An answer that another look, begun later, has overtaken is older than what is known.
            guard look > known.lastLook else { return [] }
            known.lastLook = look
            var gone = known.keys.filter { keys[$0.key] == nil }.map(\.value.caller.name)
            // Who came in without a key is not let in any more.
            if !known.hasHadKeys, register.version > 0 { gone.append(Caller.local.name) }
            known.version = register.version
            known.keys = keys
            known.hasHadKeys = known.hasHadKeys || register.version > 0
            return gone
        }
        for name in gone { revocations.yield(name) }
        if !gone.isEmpty { end(Set(gone)) }
    }

    /// Ends when whoever is called so (``Caller/name``) is not let in any more; for as many as want to know.
    ///
    /// Who begins to listen and then looks whether the key is good misses nothing.
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
        // A full store takes no notes; whoever uses the key on is noted later.
        if !seen.isEmpty { try? await store?.note(used: seen) }
    }
}

extension KeyRing: Service {
    /// Follows the store's keys until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            var rounds = 0
            var isAway = false
            while !Task.isCancelled {
                do {
                    try await refresh()
                    if rounds % Int(saturating: Self.usedPace / Self.pace) == 0 { await note() }
                    isAway = false
                } catch {
                    // Told once for each time: whatever else fails says it again and again.
                    if !isAway {
                        logger.warning("keys not read", metadata: ["error": "\(error)"])
                    }
                    isAway = true
                }
                rounds += 1
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }
}
