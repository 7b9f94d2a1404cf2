package import Poller
package import RedisClient

/// The suppression list in Redis: a key for each entry, `<ns>suppressed:<id>` → the reason.
///
/// Without an end: a recipient who has unsubscribed stays unsubscribed. Some 100 bytes an entry,
/// made by holders of our mails, by mail servers and by holders of API keys alone.
/// `<ns>refused:<id>` is when a relay first refused a recipient as unknown, in ms, for ninety days.
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
        let refused = refusals(of: SuppressionEntry(recipient, of: account))
        // One key a command: in a Cluster they live in different slots.
        _ = try await run(
            (Self.entries(recipient, account).map(key) + [refused]).map {
                RedisCommand("DEL", [.string($0)])
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
        // What stands there and is no time says nothing of an earlier refusal.
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

    private func key(_ entry: SuppressionEntry) -> String {
        "\(namespace)suppressed:\(entry.id)"
    }

    private func run(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisValue] {
        let replies = try await client.ask(commands)
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        return replies
    }
}
