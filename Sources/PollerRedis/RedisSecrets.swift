package import Poller
package import PollerIdentity
package import PollerQueue
package import RedisClient
import SafeNumbers

/// What all processes of a cluster share, made by whoever comes first, and which master keys may have sealed
/// something in the store (``SecretsField``).
///
/// *Which keys*: every process notes the first of its keys before it seals anything, and again while it
/// runs; ``settle()`` forgets the others once all is sealed anew. A process that lacks one of those noted does
/// not start: it would find values that it cannot open, or make a second root beside one it cannot read.
package struct RedisSecrets: Sendable {
    private static let keyMark = "key:"

    /// The hash.
    package let key: String
    private let client: RedisClient
    private let masterKeys: MasterKeys
    /// Closed while the roots do not open.
    package let gate: SealingGate

    /// The secrets of a cluster, sealed by `masterKeys`; `gate` bars who seals in this process.
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

    /// What is known of how the store is sealed.
    package struct Standing: Hashable, Sendable {
        /// The keys that may have sealed something, without this process' first.
        package let otherKeys: [String]
        /// Whether something may be in the clear.
        package let isPlain: Bool
    }

    /// Checks that everything in the store can be opened here, and notes how this process seals.
    ///
    /// A key that is noted is to be there, but for `gone`: whoever names that one sees whether all opens without.
    ///
    /// - Throws: ``SealError`` when it cannot; nothing was written then.
    package func prepare(forgetting gone: String? = nil) async throws {
        let fields = try await self.fields()
        let known = masterKeys.ids + [gone].compactMap(\.self)
        if let missing = Self.keys(fields).first(where: { !known.contains($0) }) {
            throw SealError.unknownKey(missing, SealedPlace(root: "the store"))
        }
        for root in Self.sealed {
            for part in Self.parts(fields[root.rawValue] ?? "") {
                _ = try masterKeys.open(part, at: Self.place(root))
            }
        }
        try await note(fields)
    }

    /// Notes how this process seals, where that is not noted, and reads the roots; again and again.
    ///
    /// Noted first: who cannot open the roots is the one of whom others must know that there still is such a
    /// key. From then on nothing is sealed here, until the roots open again (``SealingGate``).
    ///
    /// - Throws: ``SealError`` when the roots do not open.
    package func look() async throws -> Roots {
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
        let field = masterKeys.ids.first.map { Self.keyMark + $0 } ?? SecretsField.plain.rawValue
        // A store that is full takes no writes: what stands there already is not written again.
        guard fields[field] == nil else { return }
        _ = try await send("HSETNX", [.string(field), "1"])
    }

    /// How the store is sealed, as far as is noted.
    package func standing() async throws(StoreError) -> Standing {
        let fields = try await fields()
        return Standing(
            otherKeys: Self.keys(fields).filter { $0 != masterKeys.ids.first },
            isPlain: fields[SecretsField.plain.rawValue] != nil
        )
    }

    /// Forgets the keys that have sealed nothing any more, after everything was sealed by the first.
    package func settle() async throws(StoreError) {
        let others = try await standing().otherKeys.map { Self.keyMark + $0 }
        for field in others + [SecretsField.plain.rawValue] {
            _ = try await send("HDEL", [.string(field)])
        }
    }
}

/// The secrets themselves.
extension RedisSecrets {
    /// What signs inline webhooks; `configured` takes the place of what is kept for the default account.
    package func inline(configured: WebhookSecret?) async throws -> InlineSecrets {
        var chance = SystemRandomNumberGenerator()
        let main =
            if let configured {
                configured
            } else {
                try WebhookSecret(
                    await sealed(.webhook, fresh: WebhookSecret(using: &chance).reveal)
                )
            }
        return InlineSecrets(
            main: main,
            root: try bytes(
                await sealed(.inline, fresh: Self.random(using: &chance)),
                of: .inline
            )
        )
    }

    /// What tokens and cursors are made from.
    package func roots() async throws -> Roots {
        var chance = SystemRandomNumberGenerator()
        let place = Self.place(.cursor)
        let fresh = masterKeys.seal(Self.random(using: &chance), at: place)
        let value = try await agreed(.cursor, fresh: fresh)
        return try roots(value)
    }

    /// What the links in mails are made from: it never changes, because mails are kept for years and their
    /// links must work; they only end mails.
    package func mailRoot() async throws -> [UInt8] {
        if let stored = try await fields()[SecretsField.mail.rawValue] {
            return try bytes(masterKeys.open(stored, at: Self.place(.mail)), of: .mail)
        }
        return try await roots().newest
    }

    /// Replaces the root of tokens and cursors; from when on the new one makes them.
    ///
    /// - Throws: ``InvalidInput`` while things made from the one before still count: they would end at once.
    package func rotate(now: Timestamp, overlap: Duration) async throws -> Timestamp {
        let roots = try await roots()
        let stored = try await fields()[SecretsField.cursor.rawValue] ?? ""
        if roots.accepted(at: now, for: overlap).count > 1, let since = roots.since {
            throw InvalidInput(
                field: "roots",
                message: "were rotated a short while ago: again from \((since + overlap)) on, "
                    + "when nothing that the former root has made counts any more"
            )
        }
        var chance = SystemRandomNumberGenerator()
        let former = Base64URL.encode(roots.newest)
        _ = try await send(
            "HSETNX",
            [.string(SecretsField.mail.rawValue), .string(seal(former, .mail))]
        )
        let since = now + Roots.notice
        let value = [
            seal(Self.random(using: &chance), .cursor), String(since.ms), seal(former, .cursor),
        ].joined(separator: " ")
        guard try await replace(.cursor, stored, with: value) else {
            throw StoreError.unavailable("somebody else has changed the roots; try again")
        }
        return since
    }

    /// Seals anew what is not sealed by the first key; how many values that were.
    package func reseal() async throws -> Int {
        let fields = try await fields()
        var count = 0
        for field in Self.sealed {
            guard let stored = fields[field.rawValue] else { continue }
            let parts = try stored.split(separator: " ").map { part in
                let part = String(part)
                // The time between two roots.
                if Int64(decimal: part) != nil || masterKeys.isCurrent(part) { return part }
                return seal(try masterKeys.open(part, at: Self.place(field)), field)
            }
            let value = parts.joined(separator: " ")
            if value != stored, try await replace(field, stored, with: value) { count += 1 }
        }
        return count
    }

    private func roots(_ value: String) throws -> Roots {
        let parts = value.split(separator: " ").map(String.init)
        func root(_ index: Int) throws -> [UInt8] {
            try bytes(masterKeys.open(parts[index], at: Self.place(.cursor)), of: .cursor)
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
        masterKeys.seal(text, at: Self.place(field))
    }

    private func sealed(_ field: SecretsField, fresh: String) async throws -> String {
        try masterKeys.open(
            await agreed(field, fresh: seal(fresh, field)),
            at: Self.place(field)
        )
    }

    private static func random(using chance: inout some RandomNumberGenerator) -> String {
        Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &chance) })
    }
}

/// The hash.
extension RedisSecrets {
    /// Those that are sealed.
    private static let sealed: [SecretsField] = [.webhook, .cursor, .mail, .inline]

    private static func place(_ field: SecretsField) -> SealedPlace {
        SealedPlace(root: field.rawValue)
    }

    /// The secrets in a value; between two there is a time.
    private static func parts(_ value: String) -> [String] {
        value.split(separator: " ").map(String.init).filter { Int64(decimal: $0) == nil }
    }

    private static func keys(_ fields: [String: String]) -> [String] {
        fields.keys.filter { $0.hasPrefix(keyMark) }.map { String($0.dropFirst(keyMark.count)) }
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

    private func agreed(_ field: SecretsField, fresh: String) async throws(StoreError) -> String {
        do throws(RedisError) {
            return try await AgreedField.value(
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
            Scripts.live[.reseal],
            [key],
            [.string(field.rawValue), .string(old), .string(new)]
        ).int == 1
    }

    private func send(
        _ command: String,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) -> RedisValue {
        try await client.ask(RedisCommand(command, [.string(key)] + arguments))
    }
}

/// The fields of what all processes of a cluster share; beside them each master key that may have sealed
/// something in the store has a field `key:<id>`.
enum SecretsField: String, CaseIterable {
    /// What signs inline webhooks of the default account, sealed.
    case webhook
    /// The root of tokens and cursors, sealed; after a rotation `<newest> <since ms> <former>`.
    case cursor
    /// The root of links in mails, sealed, once ``cursor`` was rotated; the same as that before.
    case mail
    /// What the secrets of the other accounts' inline webhooks are made from, sealed.
    case inline
    /// Something in the store may be in the clear.
    case plain
}
