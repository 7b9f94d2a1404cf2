import Poller
import PollerAPI
import PollerRedis

/// Whether what is secret in the store is sealed, and what signs webhooks without an endpoint.
extension ClusterChecks {
    /// Whether each account's inline webhooks are signed for it alone.
    static func inline(
        _ secrets: RedisSecrets,
        hasOthers: Bool
    ) async throws(StoreError) -> HealthResult {
        let end = try await secrets.sharedUntil()
        guard hasOthers, WallClock.now() < end else {
            return HealthResult(.ok, "each account has a secret of its own")
        }
        return HealthResult(
            .warning,
            "until \(end) those of every account are signed with the default account's secret too",
            action: "give receivers of other accounts theirs by then: pollerctl endpoint secret "
                + "--account NAME"
        )
    }

    /// How what is secret in the store is sealed.
    static func secrets(
        _ secrets: RedisSecrets,
        _ masterKeys: MasterKeys
    ) async throws(StoreError) -> HealthResult {
        guard let first = masterKeys.ids.first else {
            return HealthResult(
                .warning,
                "no master key: who has a copy of Redis reads the secrets of receivers and payers in it",
                action:
                    "set POLLER_MASTER_KEY_FILE (openssl rand -hex 32) on every process, then run "
                    + "pollerd rekey"
            )
        }
        let standing = try await secrets.standing()
        if standing.isPlain {
            return HealthResult(
                .warning,
                "some may still be in the clear, from before there was a master key",
                action: "pollerd rekey, once every process has the master key"
            )
        }
        if !standing.otherKeys.isEmpty {
            return HealthResult(
                .warning,
                "some may still be sealed by \(standing.otherKeys.joined(separator: ", ")) and not by the "
                    + "first key, \(first)",
                action: "pollerd rekey, once every process has the keys in this order"
            )
        }
        return HealthResult(.ok, "sealed by the master key \(first)")
    }
}
