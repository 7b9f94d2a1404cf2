import Poller
import PollerAPI
import PollerQueue
import PollerRedis

/// The check of secrets at rest.
extension ClusterChecks {
    /// Checks how the secrets in the store are encrypted.
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
