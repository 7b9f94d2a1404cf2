package import Poller

/// Where customers stop our mails: the API's public address and the tokens it believes.
package struct UnsubscribeLinks: Sendable {
    private let base: String
    private let tokens: UnsubscribeTokens

    /// Links at `base`, the API's address without a slash at its end.
    package init(base: String, tokens: UnsubscribeTokens) {
        self.base = base
        self.tokens = tokens
    }

    /// The link that stops an account's mails to a recipient.
    func url(for recipient: MailAddress, of account: AccountID) -> String {
        "\(base)/u/\(tokens.text(for: SuppressionEntry(recipient, of: account)))"
    }
}
