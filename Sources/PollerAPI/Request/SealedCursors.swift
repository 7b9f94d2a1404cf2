import Crypto
import PollerIdentity
package import PollerOperations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encrypts list cursors for callers bound to accounts.
///
/// A filtered list continues after the last record it examined, which may belong to another account, and the cursor
/// contains its ID. A caller bound to accounts gets the cursor encrypted (AES-GCM), valid only for the same accounts. A
/// caller with access to all accounts gets it in plain text. Encryption is deterministic (the nonce is an HMAC of the
/// cursor), so that an unchanged page has the same `ETag`.
package struct SealedCursors: Sendable {
    /// How long a cursor stays valid after its root was replaced, longer than a client takes to read a page.
    private static let span = Duration.seconds(3600)

    private let keys: RootKeys

    /// Creates the cursors of a cluster.
    ///
    /// Its processes share the roots.
    package init(roots: RootRing) {
        keys = RootKeys("poller list cursor", from: roots, span: Self.span)
    }

    /// Cursors that end with this process.
    ///
    /// Made once: each context of a request starts with them, and random bytes take a system call.
    package static let ephemeral: SealedCursors = {
        var generator = SystemRandomNumberGenerator()
        let root = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return SealedCursors(roots: RootRing(fixed: root))
    }()

    /// Returns a cursor in the form for the caller.
    func seal(_ text: String, for caller: Caller) -> String {
        guard let names = caller.accounts.names else { return text }
        let (key, scope) = (keys.current, names.joined(separator: ","))
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("nonce\0\(scope)\0\(text)".utf8),
            using: key
        )
        let box = try? AES.GCM.seal(
            Array(text.utf8),
            using: key,
            nonce: AES.GCM.Nonce(data: Array(code.prefix(12))),
            authenticating: Array(scope.utf8)
        )
        // The key and the nonce always have a valid size.
        return Base64URL.encode(Array(box?.combined ?? Data()))
    }

    /// Returns the cursor from the caller's form; `nil` if it is invalid.
    func open(_ text: String, for caller: Caller) -> String? {
        guard let names = caller.accounts.names else { return text }
        guard let bytes = Base64URL.decode(text),
            let box = try? AES.GCM.SealedBox(combined: Data(bytes))
        else { return nil }
        let scope = Array(names.joined(separator: ",").utf8)
        for key in keys.accepted {
            let opened = try? AES.GCM.open(box, using: key, authenticating: scope)
            if let opened { return String(decoding: opened, as: UTF8.self) }
        }
        return nil
    }
}
