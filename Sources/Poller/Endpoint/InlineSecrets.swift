import Crypto

/// The secrets that sign webhooks of inline `notify` URLs: one for each account.
///
/// The default account's is kept, or configured; the others' are made from a root (HMAC-SHA256), so that an account costs nothing, and nobody who knows one of them knows another. In a cluster that had
/// one secret for all, that goes on signing beside the account's own for ``overlap``: webhooks may have
/// several signatures, and receivers take any that is right.
package struct InlineSecrets: Sendable {
    /// How long the secret of all goes on signing beside those of the accounts: time to tell every receiver.
    package static let overlap = Duration.seconds(30 * 86_400)

    /// The default account's.
    package let main: WebhookSecret
    /// Until when ``main`` signs for the other accounts too.
    package let sharedUntil: Timestamp
    /// Nil where one signs for all.
    private let root: SymmetricKey?

    /// The secrets of a cluster; `root` has at least 16 random bytes.
    package init(main: WebhookSecret, root: [UInt8], sharedUntil: Timestamp) {
        precondition(root.count >= 16, "fewer bytes can be guessed")
        self.main = main
        self.root = SymmetricKey(data: root)
        self.sharedUntil = sharedUntil
    }

    /// One secret for every account.
    package init(forAll secret: WebhookSecret) {
        main = secret
        root = nil
        sharedUntil = Timestamp(ms: 0)
    }

    /// The secret of an account.
    package func secret(of account: AccountID) -> WebhookSecret {
        guard let root, account != .main else { return main }
        let key = HMAC<SHA256>.authenticationCode(
            for: Array("poller inline webhook\0\(account)".utf8),
            using: root
        )
        return WebhookSecret(key: Array(key))
    }

    /// The secrets that sign an account's webhooks at this instant, its own first.
    package func signing(for account: AccountID, at now: Timestamp) -> [WebhookSecret] {
        let own = secret(of: account)
        return own != main && now < sharedUntil ? [own, main] : [own]
    }
}
