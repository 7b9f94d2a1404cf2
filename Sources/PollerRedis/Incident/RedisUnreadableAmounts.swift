package import Poller
import PollerIdentity
package import PollerQueue
package import RedisClient

/// The amounts that are not understood, in Redis.
///
/// They are a hash `<ns>unread` of `upstream → <ms>|<text>`, kept for a day after the last one.
package struct RedisUnreadableAmounts: UnreadableAmountStore {
    private let client: RedisClient
    private let key: String

    /// Creates the record of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    package init(client: RedisClient, layout: StoreLayout) {
        self.client = client
        key = "\(layout.watchKeys.namespace)unread"
    }

    package func note(_ amount: UnreadableAmount) async throws(StoreError) {
        let value = "\(amount.last.ms)|\(amount.text)"
        _ = try await execute([
            RedisCommand(
                "HSET",
                [.string(key), .string("\(amount.upstream)"), .string(value)]
            ),
            RedisCommand("PEXPIRE", [.string(key), RedisArgument(UnreadableAmount.kept.ms)]),
        ])
    }

    package func unreadableAmounts() async throws(StoreError) -> [UnreadableAmount] {
        let replies = try await execute([RedisCommand("HGETALL", [.string(key)])])
        let values = replies.first?.array?.map { $0.string ?? "" } ?? []
        let found = stride(from: 0, to: values.count - 1, by: 2).compactMap { at in
            Self.amount(of: values[at], values[at + 1])
        }
        return found.sorted { $0.upstream.description < $1.upstream.description }
    }

    /// Reads one field; `nil` if it is damaged.
    private static func amount(of upstream: String, _ value: String) -> UnreadableAmount? {
        let parts = value.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let last = Timestamp(stored: String(parts[0])),
            let account = try? AccountID(upstream)
        else { return nil }
        return UnreadableAmount(account, String(parts[1]), last: last)
    }

    private func execute(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisValue] {
        let replies = try await client.execute(commands)
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        return replies
    }
}
