package import Poller

/// Who is sent no mail, and the tokens with which customers say so.
package struct MailPreferences: Sendable {
    let suppressions: any SuppressionList
    let tokens: UnsubscribeTokens

    /// The preferences of a cluster.
    package init(suppressions: any SuppressionList, tokens: UnsubscribeTokens) {
        self.suppressions = suppressions
        self.tokens = tokens
    }
}
