import PollerAPI
import PollerOperations
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
            return .warning(
                "no master key is set, so the secrets of endpoints and payers are stored in "
                    + "Redis unencrypted",
                action: "set POLLER_MASTER_KEY_FILE (openssl rand -hex 32) for every process, then "
                    + "run pollerd rekey"
            )
        }
        let encryptionStatus = try await secrets.encryptionStatus()
        if encryptionStatus.isPlain {
            return .warning(
                "secrets stored before the master key was set may still be in the clear",
                action: "run pollerd rekey once every process has the master key"
            )
        }
        if !encryptionStatus.otherKeys.isEmpty {
            return .warning(
                "some secrets may still be encrypted with "
                    + "\(encryptionStatus.otherKeys.joined(separator: ", ")) instead of the "
                    + "first key, \(first)",
                action: "run pollerd rekey once every process has the keys in this order"
            )
        }
        return .ok("encrypted with the master key \(first)")
    }
}
