import Crypto
import Poller
import PollerIdentity
import PollerQueue

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A customer's proof of having shown a payment's client secret, kept in a cookie.
///
/// The proof is a MAC made with that secret, so every process that knows the watch can check it
/// and none has to remember anything: pages stay open while servers come and go. The secret itself
/// leaves the address at once, and is in no cookie.
struct ReturnCookie {
    /// How long a customer may keep looking.
    private static let spanSeconds = 1800

    let key: WatchKey
    let isLocal: Bool

    /// One cookie for each payment, so that two tabs do not show each other's.
    ///
    /// `__Host-`: for this host alone, over TLS alone (RFC 6265bis §4.1.3.2); a plain name where
    /// there is no TLS, on this machine.
    private var name: String { "\(isLocal ? "" : "__Host-")return-\(key.id)" }

    /// Whether a secret from an address is the payment's.
    static func isSecret(_ shown: String, of watch: Watch?) -> Bool {
        // Compared even when there is nothing to compare with: both answers take the same time.
        let known = watch?.clientSecret?.reveal ?? ""
        let isSame = proof(shown, "same") == proof(known, "same")
        return isSame && !known.isEmpty
    }

    /// The `Set-Cookie` after a secret was shown.
    func cookie(_ secret: String) -> String {
        let safe = isLocal ? "" : "; Secure"
        return "\(name)=\(Self.text(Self.proof(secret, key.id.description))); Path=/; "
            + "Max-Age=\(Self.spanSeconds); HttpOnly; SameSite=Lax\(safe)"
    }

    /// Whether a `Cookie` header proves that the payment's secret was shown.
    func isProven(by header: String?, of watch: Watch?) -> Bool {
        let known = watch?.clientSecret?.reveal ?? ""
        let prefix = name + "="
        let shown = (header ?? "").split(separator: ";")
            .map { $0.drop { $0 == " " } }
            .first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)
        guard let shown, !known.isEmpty else { return false }
        // The comparison of two MACs takes the same time wherever they differ.
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
