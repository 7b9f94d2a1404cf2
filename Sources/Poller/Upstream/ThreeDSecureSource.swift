package import PollerIdentity
import PollerPayments
import PollerQueue
package import PollerWatches

/// The 3-D Secure source that was created from a card.
package struct ThreeDSecureSource: Hashable, Sendable {
    package let key: WatchKey
    package let clientSecret: ClientSecret?
    /// The link through which its customer reaches the bank; `nil` if the bank requires no action.
    package let redirectURL: String?

    /// Creates a value.
    ///
    /// `publicURL` is the public URL of this system. The link contains a grant and not the secret, because it is
    /// recorded and sent to all recipients of the payment.
    package init(key: WatchKey, clientSecret: ClientSecret?, needsRedirect: Bool, publicURL: String)
    {
        self.key = key
        self.clientSecret = clientSecret
        guard needsRedirect, let clientSecret else {
            redirectURL = nil
            return
        }
        redirectURL = clientSecret.way(to: key, at: publicURL)
    }

    /// The customer's next step.
    var step: NextStep { redirectURL.map { .followLink(NextStep.Link(url: $0)) } ?? .none }
}

extension ClientSecret {
    /// Returns a link that forwards the payer without showing the secret: to the bank, or to the page if there is a
    /// form; `nil` if the secret cannot be decrypted.
    package func way(to key: WatchKey, at publicURL: String) -> String? {
        guard let grant = grant(of: key) else { return nil }
        let account = key.account == .main ? "" : "&account=\(key.account)"
        return "\(publicURL)/r/\(key.source)/continue?grant=\(grant)\(account)"
    }

    /// Returns the grant, which replaces the secret in a link: it forwards to the bank and reveals nothing.
    package func grant(of key: WatchKey) -> String? {
        reveal.map { Digest.base64url(of: ["leads on", $0, key.id.description], bytes: 24) }
    }

    /// Whether a text from a link is the ``grant(of:)``.
    package func grants(_ shown: String, for key: WatchKey) -> Bool {
        guard let grant = grant(of: key) else { return false }
        // Digests are compared, so that the timing does not reveal where the texts differ.
        return Digest.base64url(of: [shown], bytes: 24)
            == Digest.base64url(of: [grant], bytes: 24)
    }
}
