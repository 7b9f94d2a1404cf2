import Crypto
package import PollerIdentity
import Synchronization

/// The secrets that sign webhooks of inline `notify` URLs: one per account.
///
/// That of the default account is stored or configured. The others are derived from a root (HMAC-SHA256), so that an
/// account costs nothing, and the holder of one secret cannot derive another.
package struct InlineSecrets: Sendable {
    /// The secret of the default account.
    package let main: WebhookSecret
    /// The root of the others; `nil` if one secret signs for all.
    private let root: SymmetricKey?
    private let derived = DerivedSecrets()

    /// Creates the secrets of a cluster; `root` has at least 16 random bytes.
    package init(main: WebhookSecret, root: [UInt8]) {
        precondition(root.count >= 16, "shorter secrets can be guessed")
        self.main = main
        self.root = SymmetricKey(data: root)
    }

    /// Creates a single secret for every account.
    package init(forAll secret: WebhookSecret) {
        main = secret
        root = nil
    }

    /// Returns the secret of an account.
    package func secret(of account: AccountID) -> WebhookSecret {
        guard let root, account != .main else { return main }
        return derived.secret(of: account) {
            let key = HMAC<SHA256>.authenticationCode(
                for: Array("poller inline webhook\0\(account)".utf8),
                using: root
            )
            return WebhookSecret(key: Array(key))
        }
    }
}

/// The secrets that were derived recently, because each webhook needs one.
private final class DerivedSecrets: Sendable {
    /// About as many as accounts that one process serves at a time; beyond it all are derived again.
    private static let countMax = 1024

    private let known = Mutex<[AccountID: WebhookSecret]>([:])

    func secret(of account: AccountID, _ derive: () -> WebhookSecret) -> WebhookSecret {
        if let secret = known.withLock({ $0[account] }) { return secret }
        let secret = derive()
        known.withLock { known in
            if known.count >= Self.countMax { known = [:] }
            known[account] = secret
        }
        return secret
    }
}
