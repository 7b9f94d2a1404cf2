import Poller
import PollerAPI
import PollerRedis

/// What customers see of us, and what they want.
extension Node {
    /// Whose payments they are, by account.
    var branding: [AccountID: Branding] {
        settings.sections.accounts.compactMapValues(\.branding)
    }

    /// Who is sent no mail.
    var suppressions: RedisSuppressionList {
        RedisSuppressionList(client: cluster.client, layout: cluster.layout)
    }

    /// The tokens of the links in our mails.
    func unsubscribeTokens() async throws -> UnsubscribeTokens {
        UnsubscribeTokens(secret: try await ClusterSecrets(cluster: cluster).cursor())
    }

    /// Takes customers' wishes and the relay's reports in.
    func mailPreferences() async throws -> MailPreferences {
        MailPreferences(suppressions: suppressions, tokens: try await unsubscribeTokens())
    }
}
