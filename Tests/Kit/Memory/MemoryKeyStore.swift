package import Poller
import Synchronization

/// The API's keys in memory, every operation under one lock.
///
/// A class, because rings, routes and tests share it.
package final class MemoryKeyStore: KeyStore {
    private struct State: Sendable {
        var version: Int64 = 0
        var keys: [KeyID: (key: AccessKey, digest: KeyDigest)] = [:]
        var used: [KeyID: Timestamp] = [:]

        mutating func noteChange(_ now: Timestamp) {
            version = max(version + 1, now.ms * 1000)
        }

        func told(_ id: KeyID) -> AccessKey? {
            keys[id].map { $0.key.stored(at: $0.key.createdAt, lastUsedAt: used[id]) }
        }
    }

    private let time: any StoreTime
    private let countMax: Int
    private let state = Mutex(State())

    /// No keys.
    package init(time: any StoreTime, countMax: Int = AccessKey.countMax) {
        self.time = time
        self.countMax = countMax
    }

    package func version() async throws(StoreError) -> Int64 {
        state.withLock { $0.version }
    }

    package func register() async throws(StoreError) -> KeyRegister {
        state.withLock { state in
            let keys = state.keys.compactMap { id, stored in
                state.told(id).map { (key: $0, digest: stored.digest) }
            }
            return KeyRegister(version: state.version, keys: keys)
        }
    }

    package func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within share: KeyShare?
    ) async throws(StoreError) -> KeyCreation {
        state.withLock { state in
            let isNew = state.keys[key.id] == nil
            func own() -> Int {
                state.keys.count { share?.accounts.contains($0.value.key.accounts) ?? false }
            }
            let shareMax = share?.countMax ?? .max
            if isNew, state.keys.count >= countMax || own() >= shareMax {
                for (id, stored) in state.keys where stored.key.hasEnded(by: time.now) {
                    (state.keys[id], state.used[id]) = (nil, nil)
                }
            }
            guard !isNew || state.keys.count < countMax else { return .tooMany }
            guard !isNew || own() < shareMax else { return .tooManyOfAccounts(own()) }
            let stored = key.stored(at: time.now)
            state.noteChange(time.now)
            state.keys[key.id] = (stored, digest)
            return .created(stored)
        }
    }

    package func revoke(
        _ id: KeyID,
        mayBeLast: Bool
    ) async throws(StoreError) -> KeyRevocation {
        state.withLock { state in
            guard let key = state.told(id) else { return .unknown }
            let others = state.keys.contains { $0.key != id && $0.value.key.isLasting }
            if key.isLasting && !others && !mayBeLast { return .lastAdmin }
            state.noteChange(time.now)
            state.keys[id] = nil
            state.used[id] = nil
            return .revoked(key)
        }
    }

    package func note(used: [KeyID: Timestamp]) async throws(StoreError) {
        state.withLock { state in
            for (id, at) in used where state.keys[id] != nil { state.used[id] = at }
        }
    }
}
