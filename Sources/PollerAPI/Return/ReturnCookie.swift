import Crypto
import PollerIdentity
import PollerQueue
import PollerWatches

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A cookie that proves that a customer has presented a payment's client secret.
///
/// The proof is a MAC with that secret as the key. So every process that knows the watch can check it, and no process
/// stores anything: pages stay open while servers start and stop. The secret itself leaves the URL at once, and no
/// cookie contains it.
struct ReturnCookie {
    /// The lifetime of the cookie.
    private static let spanSeconds = 1800

    let key: WatchKey
    let isLocal: Bool

    /// The cookie name, one per payment, so that two tabs do not mix up their payments.
    ///
    /// `__Host-` limits the cookie to this host and TLS (RFC 6265bis §4.1.3.2). On the local machine, which has no TLS,
    /// the name has no prefix.
    private var name: String { "\(isLocal ? "" : "__Host-")return-\(key.id)" }

    /// Returns whether a secret from a URL belongs to the payment.
    static func isSecret(_ shown: String, of watch: Watch?) -> Bool {
        // Compared even without a known secret, so that both cases take the same time.
        let known = watch?.clientSecret?.reveal ?? ""
        let isSame = proof(shown, "same") == proof(known, "same")
        return isSame && !known.isEmpty
    }

    /// Returns the `Set-Cookie` value after a secret was presented.
    func cookie(_ secret: String) -> String {
        let safe = isLocal ? "" : "; Secure"
        return "\(name)=\(Self.text(Self.proof(secret, key.id.description))); Path=/; "
            + "Max-Age=\(Self.spanSeconds); HttpOnly; SameSite=Lax\(safe)"
    }

    /// Returns whether a `Cookie` header proves that the payment's secret was presented.
    func isProven(by header: String?, of watch: Watch?) -> Bool {
        let known = watch?.clientSecret?.reveal ?? ""
        let prefix = name + "="
        let shown = (header ?? "").split(separator: ";")
            .map { $0.drop { $0 == " " } }
            .first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)
        guard let shown, !known.isEmpty else { return false }
        // The comparison of two MACs takes constant time.
        let key = SymmetricKey(data: Array(known.utf8))
        let wanted = Self.text(Self.proof(known, self.key.id.description))
        return HMAC<SHA256>.authenticationCode(for: Array(shown.utf8), using: key)
            == HMAC<SHA256>.authenticationCode(for: Array(wanted.utf8), using: key)
    }

    private static func proof(
        _ secret: String,
        _ subject: String
    ) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(
            for: Array("return page \(subject)".utf8),
            using: SymmetricKey(data: Array(secret.utf8))
        )
    }

    private static func text(_ mac: HMAC<SHA256>.MAC) -> String {
        Base64URL.encode(Array(mac))
    }
}
