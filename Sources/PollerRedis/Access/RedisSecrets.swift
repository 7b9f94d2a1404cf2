package import PollerDeliveries
package import PollerIdentity
package import PollerOperations
package import PollerQueue
package import RedisClient
import SafeNumbers

/// The secrets shared by all processes of a cluster, and the master keys that may encrypt values in the store.
///
/// The first process creates the secrets (``SecretsField``).
///
/// *Which keys*: every process records the first of its keys before it encrypts anything, and again while it runs.
/// ``removeUnusedKeys()`` removes the others once all values are re-encrypted. A process that lacks a recorded key does not
/// start: it would find values that it cannot decrypt, or create a second root next to one it cannot read.
package struct RedisSecrets: Sendable {
    private static let keyPrefix = "key:"

    /// The key of the hash.
    package let key: String
    private let client: RedisClient
    private let masterKeys: MasterKeys
    /// Closed while the roots cannot be decrypted.
    package let gate: SealingGate

    /// Creates the secret store of a cluster; `masterKeys` encrypt, and `gate` can stop encryption in this process.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        masterKeys: MasterKeys,
        gate: SealingGate = SealingGate()
    ) {
        self.client = client
        self.masterKeys = masterKeys
        self.gate = gate
        key = "\(layout.namespace):secrets"
    }

    /// The known encryption state of the store.
    package struct EncryptionStatus: Hashable, Sendable {
        /// The keys that may have encrypted values, except this process's first.
        package let otherKeys: [String]
        /// Whether some values may be plaintext.
        package let isPlain: Bool
    }

    /// Checks that this process can decrypt everything in the store, and records its key.
    ///
    /// A recorded key must be present, except `gone`. With `gone`, an operator checks that all values can be decrypted
    /// without that key.
    ///
    /// - Throws: ``SealError`` if a value cannot be decrypted; nothing was written then.
    package func prepare(forgetting gone: String? = nil) async throws {
        let fields = try await self.fields()
        let known = masterKeys.ids + [gone].compactMap(\.self)
        if let missing = Self.keys(fields).first(where: { !known.contains($0) }) {
            throw SealError.unknownKey(missing, SealedLocation(root: "the store"))
        }
        for root in Self.sealed {
            for part in Self.parts(fields[root.rawValue] ?? "") {
                _ = try masterKeys.open(part, at: Self.location(root))
            }
        }
        try await note(fields)
    }

    /// Records the ID of this process's master key, or that it has none (`plain`), and reads the roots.
    ///
    /// It is called repeatedly. The ID is recorded first: if this process cannot decrypt the roots, others must know
    /// that its key is still in use. If the roots cannot be decrypted, this process encrypts nothing until they can be
    /// (``SealingGate``).
    ///
    /// - Throws: ``SealError`` if the roots cannot be decrypted.
    package func refresh() async throws -> Roots {
        try await note(fields())
        do {
            let roots = try await roots()
            gate.set(nil)
            return roots
        } catch let error as SealError {
            gate.set(error)
            throw error
        }
    }

    private func note(_ fields: [String: String]) async throws {
        let field = masterKeys.ids.first.map { Self.keyPrefix + $0 } ?? SecretsField.plain.rawValue
        // A full store accepts no writes, so an existing value is not written again.
        guard fields[field] == nil else { return }
        _ = try await send("HSETNX", [.string(field), "1"])
    }

    /// Returns the recorded encryption state of the store.
    package func encryptionStatus() async throws(StoreError) -> EncryptionStatus {
        let fields = try await fields()
        return EncryptionStatus(
            otherKeys: Self.keys(fields).filter { $0 != masterKeys.ids.first },
            isPlain: fields[SecretsField.plain.rawValue] != nil
        )
    }

    /// Removes the keys that encrypt no value any more, after everything was encrypted by the first.
    package func removeUnusedKeys() async throws(StoreError) {
        let others = try await encryptionStatus().otherKeys.map { Self.keyPrefix + $0 }
        for field in others + [SecretsField.plain.rawValue] {
            _ = try await send("HDEL", [.string(field)])
        }
    }
}

/// The secrets themselves.
extension RedisSecrets {
    /// Returns the secrets that sign inline webhooks; `configured` replaces the stored one of the default account.
    package func inline(configured: WebhookSecret?) async throws -> InlineSecrets {
        var generator = SystemRandomNumberGenerator()
        let main =
            if let configured {
                configured
            } else {
                try WebhookSecret(
                    await sealed(.webhook, fresh: WebhookSecret(using: &generator).reveal)
                )
            }
        return InlineSecrets(
            main: main,
            root: try bytes(
                await sealed(.inline, fresh: Self.random(using: &generator)),
                of: .inline
            )
        )
    }

    /// Returns the roots of tokens and cursors.
    package func roots() async throws -> Roots {
        var generator = SystemRandomNumberGenerator()
        let location = Self.location(.cursor)
        let fresh = masterKeys.seal(Self.random(using: &generator), at: location)
        let value = try await sharedValue(.cursor, fresh: fresh)
        return try roots(value)
    }

    /// Returns the root of the links in mails.
    ///
    /// It never changes, because mails are kept for years and their links must work. The links only unsubscribe.
    package func mailRoot() async throws -> [UInt8] {
        if let stored = try await fields()[SecretsField.mail.rawValue] {
            return try bytes(masterKeys.open(stored, at: Self.location(.mail)), of: .mail)
        }
        return try await roots().newest
    }

    /// Replaces the root of tokens and cursors; returns from when on the new one is used.
    ///
    /// - Throws: ``InvalidInput`` while tokens of the root before the current one are valid: they would end at once.
    package func rotate(now: Timestamp, overlap: Duration) async throws -> Timestamp {
        let roots = try await roots()
        let stored = try await fields()[SecretsField.cursor.rawValue] ?? ""
        if roots.accepted(at: now, for: overlap).count > 1, let since = roots.since {
            throw InvalidInput(
                "roots",
                "were rotated a short while ago: again from \((since + overlap)) on, "
                    + "when nothing that the former root has made counts any more"
            )
        }
        var generator = SystemRandomNumberGenerator()
        let former = Base64URL.encode(roots.newest)
        _ = try await send(
            "HSETNX",
            [.string(SecretsField.mail.rawValue), .string(seal(former, .mail))]
        )
        let since = now + Roots.notice
        let value = [
            seal(Self.random(using: &generator), .cursor), String(since.ms), seal(former, .cursor),
        ].joined(separator: " ")
        guard try await replace(.cursor, stored, with: value) else {
            throw StoreError.unavailable("somebody else has changed the roots; try again")
        }
        return since
    }

    /// Re-encrypts values that are not encrypted by the first key; returns their number.
    package func reseal() async throws -> Int {
        let fields = try await fields()
        var count = 0
        for field in Self.sealed {
            guard let stored = fields[field.rawValue] else { continue }
            let parts = try stored.split(separator: " ").map { part in
                let part = String(part)
                // The time between two roots.
                if Int64(decimal: part) != nil || masterKeys.isCurrent(part) { return part }
                return seal(try masterKeys.open(part, at: Self.location(field)), field)
            }
            let value = parts.joined(separator: " ")
            if value != stored, try await replace(field, stored, with: value) { count += 1 }
        }
        return count
    }

    private func roots(_ value: String) throws -> Roots {
        let parts = value.split(separator: " ").map(String.init)
        func root(_ index: Int) throws -> [UInt8] {
            try bytes(masterKeys.open(parts[index], at: Self.location(.cursor)), of: .cursor)
        }
        if parts.count == 3, let since = Int64(safe: parts[1]) {
            return Roots(try root(0), since: Timestamp(ms: since), instead: try root(2))
        }
        guard parts.count == 1 else {
            throw StoreError.corrupt("\(key) holds no root of tokens and cursors")
        }
        return Roots(try root(0))
    }

    private func bytes(_ text: String, of field: SecretsField) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(text), bytes.count >= 16 else {
            throw StoreError.corrupt("\(key) holds nothing of use as \(field)")
        }
        return bytes
    }

    private func seal(_ text: String, _ field: SecretsField) -> String {
        masterKeys.seal(text, at: Self.location(field))
    }

    private func sealed(_ field: SecretsField, fresh: String) async throws -> String {
        try masterKeys.open(
            await sharedValue(field, fresh: seal(fresh, field)),
            at: Self.location(field)
        )
    }

    private static func random(using generator: inout some RandomNumberGenerator) -> String {
        Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}

/// Access to the hash.
extension RedisSecrets {
    /// The encrypted fields.
    private static let sealed: [SecretsField] = [.webhook, .cursor, .mail, .inline]

    private static func location(_ field: SecretsField) -> SealedLocation {
        SealedLocation(root: field.rawValue)
    }

    /// Returns the secrets in a value, without the time between two of them.
    private static func parts(_ value: String) -> [String] {
        value.split(separator: " ").map(String.init).filter { Int64(decimal: $0) == nil }
    }

    private static func keys(_ fields: [String: String]) -> [String] {
        fields.keys.filter { $0.hasPrefix(keyPrefix) }.map { String($0.dropFirst(keyPrefix.count)) }
            .sorted()
    }

    private func fields() async throws(StoreError) -> [String: String] {
        let reply = try await send("HGETALL", []).array ?? []
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: reply.count - 1, by: 2) {
            fields[reply[index].string ?? ""] = reply[index + 1].string ?? ""
        }
        return fields
    }

    private func sharedValue(
        _ field: SecretsField,
        fresh: String
    ) async throws(StoreError) -> String {
        do throws(RedisError) {
            return try await SharedHashField.value(
                of: field.rawValue,
                in: key,
                on: client,
                fresh: fresh
            ).string ?? ""
        } catch {
            throw StoreError(error)
        }
    }

    private func replace(
        _ field: SecretsField,
        _ old: String,
        with new: String
    ) async throws(StoreError) -> Bool {
        try await client.run(
            .reencrypt,
            [key],
            [.string(field.rawValue), .string(old), .string(new)]
        ).int == 1
    }

    private func send(
        _ command: String,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) -> RedisValue {
        try await client.execute(RedisCommand(command, [.string(key)] + arguments))
    }
}

/// The fields of the hash shared by all processes of a cluster.
///
/// In addition, each master key that may have encrypted a value in the store has a field `key:<id>`.
enum SecretsField: String, CaseIterable {
    /// The secret that signs inline webhooks of the default account, encrypted.
    case webhook
    /// The root of tokens and cursors, encrypted; after a rotation `<newest> <since ms> <former>`.
    case cursor
    /// The root of links in mails, encrypted, once ``cursor`` was rotated; it was the same root before.
    case mail
    /// The root of the secrets of the other accounts' inline webhooks, encrypted.
    case inline
    /// Some values in the store may be plaintext.
    case plain
}
