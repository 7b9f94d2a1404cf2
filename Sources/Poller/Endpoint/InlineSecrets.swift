import Crypto
package import PollerIdentity

/// The secrets that sign webhooks of inline `notify` URLs: one for each account.
///
/// The default account's is kept, or configured; the others' are made from a root (HMAC-SHA256), so that an account
/// costs nothing, and the holder of one secret cannot derive another.
package struct InlineSecrets: Sendable {
    /// The default account's.
    package let main: WebhookSecret
    /// Nil where one signs for all.
    private let root: SymmetricKey?

    /// The secrets of a cluster; `root` has at least 16 random bytes.
    package init(main: WebhookSecret, root: [UInt8]) {
        precondition(root.count >= 16, "fewer bytes can be guessed")
        self.main = main
        self.root = SymmetricKey(data: root)
    }

    /// One secret for every account.
    package init(forAll secret: WebhookSecret) {
        main = secret
        root = nil
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
}
