import Foundation
import Logging
package import PollerIdentity
package import PollerOperations
package import PollerQueue
import RedisClient
import SafeNumbers

/// The API keys in Redis: one hash in partition 0 of the watches.
///
/// *Shape* of a value: `<created ms> <JSON>`, by the key's id; the script writes the time. The JSON holds a digest of
/// the key, so a copy of the store grants no access.
package struct RedisKeyStore: KeyStore {
    private let redis: RedisPartitions
    private let countMax: Int

    /// Creates the key store of a cluster, with at most `countMax` keys in total.
    package init(_ redis: RedisPartitions, countMax: Int = AccessKey.countMax) {
        self.redis = redis
        self.countMax = countMax
    }

    package func version() async throws(StoreError) -> Int64 {
        try await redis.number(MetaField.keysVersion.rawValue, of: redis.keys.meta(0))
    }

    package func register() async throws(StoreError) -> KeyRegister {
        let reply = try await redis.array(.keyList)
        var keys: [(key: AccessKey, digest: KeyDigest)] = []
        for index in stride(from: 1, to: reply.count - 2, by: 3) {
            let id = reply[index].string ?? ""
            if let found = Self.key(id, reply[index + 1].string, used: reply[index + 2].string) {
                keys.append(found)
            } else {
                // One record of another release must not lock out the holders of all the others.
                redis.logger.error("key not understood", metadata: ["key": "\(id)"])
            }
        }
        guard let version = Int64(safe: reply.first?.string ?? "") else {
            throw .corrupt("key_list answered nonsense")
        }
        return KeyRegister(version: version, keys: keys)
    }

    package func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within accountLimit: AccountKeyLimit?
    ) async throws(StoreError) -> KeyCreation {
        var bounds = [RedisArgument(countMax)]
        if let accountLimit, let names = accountLimit.accounts.names {
            bounds +=
                [RedisArgument(accountLimit.countMax)] + names.map { RedisArgument.string($0) }
        }
        let reply = try await redis.array(
            .keyWrite,
            [
                "create", .string(key.id.description), .string(try Self.json(key, digest)),
            ] + bounds,
            isDurable: true
        )
        switch reply.first?.string {
        case "created":
            guard reply.count == 2, let now = Int64(safe: reply[1].string ?? "") else { break }
            return .created(key.stored(at: Timestamp(ms: now)))
        case "full": return .tooMany
        case "share": return .tooManyOfAccounts(reply.last?.int ?? 0)
        default: break
        }
        throw .corrupt("key_write answered nonsense")
    }

    package func revoke(
        _ id: KeyID,
        mayBeLast: Bool
    ) async throws(StoreError) -> KeyRevocation {
        let reply = try await redis.array(
            .keyWrite,
            ["revoke", .string(id.description), mayBeLast ? "1" : "0"],
            isDurable: true
        )
        switch reply.first?.string {
        case "revoked":
            guard reply.count == 3 else { break }
            let found = Self.key(id.description, reply[1].string, used: reply[2].string)
            return .revoked(found?.key ?? .unreadable(id))
        case "unknown": return .unknown
        case "last": return .lastAdmin
        default: break
        }
        throw .corrupt("key_write answered nonsense")
    }

    package func note(used: [KeyID: Timestamp]) async throws(StoreError) {
        _ = try await redis.run(
            .keyUsed,
            partition: 0,
            used.flatMap { [.string($0.key.description), RedisArgument($0.value.ms)] }
        )
    }

    /// The stored form; missing values mean no limit.
    private struct Wire: Codable {
        let digest: String
        let name: String?
        let role: String
        let allow: [String]?
        let accounts: [String]?
        let expiresMs: Int64?
        let by: String
    }

    private static func json(
        _ key: AccessKey,
        _ digest: KeyDigest
    ) throws(StoreError) -> String {
        let wire = Wire(
            digest: digest.text,
            name: key.name,
            role: key.role.rawValue,
            allow: key.allowed.isEmpty ? nil : key.allowed.map(\.rawValue).sorted(),
            accounts: key.accounts.names,
            expiresMs: key.expiresAt?.ms,
            by: key.createdBy
        )
        return try wire.stored(as: "the key \(key.id)")
    }

    private static func key(
        _ id: String,
        _ value: String?,
        used: String?
    ) -> (key: AccessKey, digest: KeyDigest)? {
        let parts = (value ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let created = Timestamp(stored: parts[0]),
            let wire = try? JSONDecoder().decode(Wire.self, from: Data(parts[1].utf8)),
            let role = KeyRole(rawValue: wire.role)
        else { return nil }
        let accounts = wire.accounts.map { names in
            AccountSet.some(Set(names.map(AccountID.init(unchecked:))))
        }
        // A scope of a later release is unknown here and not granted.
        let key = try? AccessKey(
            id: KeyID(unchecked: id),
            name: wire.name,
            role: role,
            allowed: Set((wire.allow ?? []).compactMap(Scope.init(rawValue:))),
            accounts: accounts ?? .all,
            createdAt: created,
            expiresAt: wire.expiresMs.map(Timestamp.init(ms:)),
            createdBy: wire.by,
            lastUsedAt: used.flatMap { Timestamp(stored: $0) }
        )
        return key.map { ($0, KeyDigest(unchecked: wire.digest)) }
    }
}
