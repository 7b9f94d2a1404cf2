package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
package import RedisClient

/// The suppression list in Redis.
///
/// Each entry has a key, `<ns>suppressed:<id>` → the reason, `hard_bounce`, and one for its details in the list,
/// `<ns>suppressedNote:<id>` → `<ms>|<account>|j…e@example.com`.
///
/// They do not expire: a recipient who has unsubscribed stays unsubscribed. An entry takes about 250 bytes. Only
/// recipients of our mails, mail servers and holders of API keys create entries. The list is read from
/// `<ns>suppressions`, a zset of the entries by their time. It is written after the entry, which alone decides: an
/// entry that a crash leaves out of the list still suppresses the recipient. `<ns>refused:<id>` is when a relay first
/// rejected a recipient as unknown, in ms, for ninety days.
package struct RedisSuppressionList: SuppressionList {
    /// The number of entries read at once.
    private static let pageMax = 500

    private let client: RedisClient
    private let namespace: String

    /// Creates the suppression list of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    package init(client: RedisClient, layout: StoreLayout) {
        self.client = client
        namespace = layout.watchKeys.namespace
    }

    package func reason(
        for recipient: MailAddress,
        of account: AccountID
    ) async throws(StoreError) -> SuppressionReason? {
        let replies = try await run(
            Self.entries(recipient, account).map { RedisCommand("GET", [.string(key($0))]) }
        )
        guard let text = replies.lazy.compactMap(\.string).first else { return nil }
        return try Self.reason(text)
    }

    package func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason,
        noting note: SuppressionNote
    ) async throws(StoreError) {
        let text = [
            String(note.at.ms), note.account?.description ?? "",
            note.recipient?.replacing("|", with: "/") ?? "",
        ].joined(separator: "|")
        _ = try await client.run(.suppress, [key(entry)], [.string(reason.rawValue)])
        _ = try await client.run(.suppress, [noteKey(entry)], [.string(text)])
        _ = try await client.run(
            .suppress,
            [index],
            [.string(entry.id.description), RedisArgument(note.at.ms)]
        )
    }

    package func lift(_ entry: SuppressionEntry) async throws(StoreError) -> SuppressedRecipient? {
        let replies = try await run([
            RedisCommand("GET", [.string(key(entry))]),
            RedisCommand("GET", [.string(noteKey(entry))]),
            RedisCommand("DEL", [.string(key(entry))]),
            RedisCommand("DEL", [.string(noteKey(entry))]),
            RedisCommand("DEL", [.string(refusals(of: entry))]),
            RedisCommand("ZREM", [.string(index), .string(entry.id.description)]),
        ])
        let texts = replies.prefix(2).map(\.string)
        return try texts.first?.map { text throws(StoreError) in
            try Self.decoded(text, texts.last ?? nil, entry)
        }
    }

    package func suppressed(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<SuppressedRecipient> {
        guard let start = cursor.map({ Int(count: $0) }) ?? 0 else { throw .unknownCursor }
        let most = min(max(limit, 1), Self.pageMax)
        let ids =
            try await run([
                RedisCommand(
                    "ZRANGE",
                    [.string(index), RedisArgument(start), RedisArgument(start + most), "REV"]
                )
            ]).first?.array?.compactMap(\.string) ?? []
        let entries = ids.prefix(most).map { SuppressionEntry(id: ItemID(unchecked: $0)) }
        let texts = try await run(entries.map { RedisCommand("GET", [.string(key($0))]) })
        let notes = try await run(entries.map { RedisCommand("GET", [.string(noteKey($0))]) })
        var items: [SuppressedRecipient] = []
        for (entry, (text, note)) in zip(entries, zip(texts, notes)) {
            // The entry was lifted meanwhile.
            guard let text = text.string else { continue }
            items.append(try Self.decoded(text, note.string, entry))
        }
        return ListPage(items: items, next: ids.count > most ? String(start + most) : nil)
    }

    private static func reason(_ text: String) throws(StoreError) -> SuppressionReason {
        guard let reason = SuppressionReason(rawValue: text) else {
            throw .corrupt("a suppression has the unknown reason \(text.prefix(32))")
        }
        return reason
    }

    /// Reads an entry: its reason, and its details, which may be missing after a crash.
    private static func decoded(
        _ text: String,
        _ note: String?,
        _ entry: SuppressionEntry
    ) throws(StoreError) -> SuppressedRecipient {
        let parts = (note ?? "")
            .split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false)
            .map(String.init)
        let reason = try reason(text)
        func part(_ index: Int) -> String? {
            index < parts.count && !parts[index].isEmpty ? parts[index] : nil
        }
        let note = SuppressionNote(
            masked: part(2),
            account: part(1).map(AccountID.init(unchecked:)),
            at: part(0).flatMap { Timestamp(stored: $0) } ?? Timestamp(ms: 0)
        )
        return SuppressedRecipient(entry: entry, reason: reason, note: note)
    }

    package func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError) {
        let refused = refusals(of: SuppressionEntry(recipient, of: account))
        let entries = Self.entries(recipient, account)
        // One key per command: in a Cluster they are in different slots.
        _ = try await run(
            (entries.map(key) + entries.map(noteKey) + [refused]).map {
                RedisCommand("DEL", [.string($0)])
            }
                + entries.map {
                    RedisCommand("ZREM", [.string(index), .string($0.id.description)])
                }
        )
    }

    package func noteRefusal(
        _ entry: SuppressionEntry,
        at now: Timestamp
    ) async throws(StoreError) -> Timestamp {
        let key = RedisArgument.string(refusals(of: entry))
        let replies = try await run([
            RedisCommand(
                "SET",
                [key, RedisArgument(now.ms), "NX", "PX", RedisArgument(MailboxRefusal.kept.ms)]
            ),
            RedisCommand("GET", [key]),
        ])
        // A value that is not a time says nothing about an earlier rejection.
        return replies.last?.string.flatMap { Timestamp(stored: $0) } ?? now
    }

    package func forgetRefusals(_ entry: SuppressionEntry) async throws(StoreError) {
        _ = try await run([RedisCommand("DEL", [.string(refusals(of: entry))])])
    }

    private func refusals(of entry: SuppressionEntry) -> String {
        "\(namespace)refused:\(entry.id)"
    }

    private static func entries(
        _ recipient: MailAddress,
        _ account: AccountID
    ) -> [SuppressionEntry] {
        [SuppressionEntry(everywhere: recipient), SuppressionEntry(recipient, of: account)]
    }

    /// The key of the entries by their time.
    private var index: String { "\(namespace)suppressions" }

    private func key(_ entry: SuppressionEntry) -> String {
        "\(namespace)suppressed:\(entry.id)"
    }

    private func noteKey(_ entry: SuppressionEntry) -> String {
        "\(namespace)suppressedNote:\(entry.id)"
    }

    private func run(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisValue] {
        let replies = try await client.execute(commands)
        if let error = replies.lazy.compactMap(\.error).first {
            throw StoreError(.reply(error)).ofPart
        }
        return replies
    }
}
