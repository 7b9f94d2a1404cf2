import Crypto
package import Poller
import PollerIdentity

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes the cursors of lists unreadable for who may not see everything.
///
/// A list with a filter goes on behind the last thing it has looked at, and that may be somebody
/// else's: its id stands in the cursor. Who is bound to accounts gets it sealed (AES-GCM), good for the
/// same accounts only; who sees everything gets it as it is. The same cursor is sealed the same each time
/// (its nonce is an HMAC of it), so that a page that has not changed has the same `ETag`.
package struct SealedCursors: Sendable {
    /// How long a cursor counts after the root it was made from was replaced: nobody reads a page longer.
    private static let span = Duration.seconds(3600)

    private let keys: RootKeys

    /// The cursors of a cluster; its processes share the roots.
    package init(roots: RootRing) {
        keys = RootKeys("poller list cursor", from: roots, span: Self.span)
    }

    /// Cursors that end with this process.
    package static var ephemeral: SealedCursors {
        var chance = SystemRandomNumberGenerator()
        let root = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &chance) }
        return SealedCursors(roots: RootRing(fixed: root))
    }

    /// A cursor as somebody is told it.
    func seal(_ text: String, for caller: Caller) -> String {
        guard let names = caller.accounts.names else { return text }
        let (key, scope) = (keys.making, names.joined(separator: ","))
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
        // Neither the key nor the nonce can be of a wrong size.
        return Base64URL.encode(Array(box?.combined ?? Data()))
    }

    /// A cursor that somebody was told; nil for anything else.
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
