package import Poller
package import RedisClient

/// The suppression list in Redis: a key for each entry, `<ns>suppressed:<id>` → the reason.
///
/// Without an end: a recipient who has unsubscribed stays unsubscribed. Some 100 bytes an entry,
/// made by holders of our mails, by mail servers and by holders of API keys alone.
package struct RedisSuppressionList: SuppressionList {
    private let client: RedisClient
    private let namespace: String

    /// The list of a cluster.
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
        guard let reason = SuppressionReason(rawValue: text) else {
            throw .corrupt("a suppression has the unknown reason \(text.prefix(32))")
        }
        return reason
    }

    package func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason
    ) async throws(StoreError) {
        _ = try await client.run(
            Scripts.live[.suppress],
            [key(entry)],
            [.string(reason.rawValue)]
        )
    }

    package func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError) {
        // One key a command: in a Cluster they live in different slots.
        _ = try await run(
            Self.entries(recipient, account).map { RedisCommand("DEL", [.string(key($0))]) }
        )
    }

    private static func entries(
        _ recipient: MailAddress,
        _ account: AccountID
    ) -> [SuppressionEntry] {
        [SuppressionEntry(everywhere: recipient), SuppressionEntry(recipient, of: account)]
    }

    private func key(_ entry: SuppressionEntry) -> String {
        "\(namespace)suppressed:\(entry.id)"
    }

    private func run(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisValue] {
        let replies = try await client.ask(commands)
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        return replies
    }
}
