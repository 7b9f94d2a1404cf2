import Poller
import PollerRedis
import RedisClient

/// The secrets every process of a cluster shares, made by whoever comes first.
///
/// *Shape*: hash `<namespace>:secrets`: `webhook` (whsec_…) and `cursor` (base64url, 32 bytes).
struct ClusterSecrets {
    let cluster: Cluster

    /// What signs inline webhooks: the configured secret, or the cluster's own.
    func webhook(configured: WebhookSecret?) async throws -> WebhookSecret {
        if let configured { return configured }
        var chance = SystemRandomNumberGenerator()
        return try WebhookSecret(
            await agreed("webhook", fresh: WebhookSecret(using: &chance).reveal)
        )
    }

    /// What authenticates the cursors of live clients.
    func cursor() async throws -> [UInt8] {
        var chance = SystemRandomNumberGenerator()
        let fresh = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &chance) }
        let text = try await agreed("cursor", fresh: Base64URL.encode(fresh))
        guard let bytes = Base64URL.decode(text), bytes.count >= 16 else {
            throw StoreError.corrupt("\(cluster.layout.namespace):secrets holds no cursor secret")
        }
        return bytes
    }

    private func agreed(_ field: String, fresh: String) async throws -> String {
        try await AgreedField.value(
            of: field,
            in: "\(cluster.layout.namespace):secrets",
            on: cluster.client,
            fresh: fresh
        ).string ?? ""
    }
}
