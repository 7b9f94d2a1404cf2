package import PollerHints
package import PollerIdentity
package import PollerQueue
import RedisClient
import SafeNumbers

/// The rejected webhooks, in one hash for the whole cluster, because few accounts have any.
///
/// *Shape*: `<ns>refused`, account → `<reason>|<count>|<since ms>|<last ms>|<detail>`; it expires two days after the
/// last one.
///
/// *Atomicity*: none. If two processes add at once, one count may be lost; the number is only for people.
extension RedisSweepStore: WebhookHealthStore {
    private static let retentionMs = 2 * RefusedWebhooks.span.ms

    package func add(_ refused: RefusedWebhooks) async throws(StoreError) {
        let field = RedisArgument.string(refused.account.description)
        let stored = try await client.execute(RedisCommand("HGET", [.string(refusedKey), field]))
        let before = stored.string.flatMap { Self.refused(refused.account, $0) }
        let sum = before.flatMap { $0.isRecent(at: refused.last) ? $0.adding(refused) : nil }
        _ = try await client.execute(
            RedisCommand("HSET", [.string(refusedKey), field, .string(Self.text(sum ?? refused))])
        )
        _ = try await client.execute(
            RedisCommand("PEXPIRE", [.string(refusedKey), RedisArgument(Self.retentionMs)])
        )
    }

    package func forgetRefused(of account: AccountID) async throws(StoreError) {
        _ = try await client.execute(
            RedisCommand("HDEL", [.string(refusedKey), .string(account.description)])
        )
    }

    package func refusedWebhooks() async throws(StoreError) -> [RefusedWebhooks] {
        let reply = try await client.execute(RedisCommand("HGETALL", [.string(refusedKey)]))
        let fields = (reply.array ?? []).map { $0.string ?? "" }
        return stride(from: 0, to: fields.count - 1, by: 2)
            .compactMap { at in Self.refused(AccountID(unchecked: fields[at]), fields[at + 1]) }
            .sorted { $0.account.description < $1.account.description }
    }

    private static func text(_ refused: RefusedWebhooks) -> String {
        "\(refused.reason.rawValue)|\(refused.count)|\(refused.since.ms)|\(refused.last.ms)|\(refused.detail)"
    }

    /// Reads a field; `nil` if another release has written it differently.
    private static func refused(_ account: AccountID, _ text: String) -> RefusedWebhooks? {
        let parts = text.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, let reason = WebhookRefusal(rawValue: String(parts[0])),
            let count = Int(decimal: parts[1]), let since = Timestamp(stored: parts[2]),
            let last = Timestamp(stored: parts[3])
        else { return nil }
        return RefusedWebhooks(
            account: account,
            reason: reason,
            count: count,
            since: since,
            last: last,
            detail: String(parts[4])
        )
    }
}
