import Crypto
import Poller

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes the cursors of lists unreadable for who may not see everything.
///
/// A list with a filter goes on behind the last thing it has looked at, and that may be somebody
/// else's: its id stands in the cursor. Who is bound to accounts gets it sealed (AES-GCM), good for the
/// same accounts only; who sees everything gets it as it is.
package struct SealedCursors: Sendable {
    private let key: SymmetricKey

    private init(_ key: SymmetricKey) {
        self.key = key
    }

    /// The cursors of a cluster; `secret` is the same in all its processes.
    package init(secret: [UInt8]) {
        // A key of its own, so that the secret may be one that serves another purpose too.
        key = SymmetricKey(
            data: HMAC<SHA256>.authenticationCode(
                for: Array("poller list cursor".utf8),
                using: SymmetricKey(data: secret)
            )
        )
    }

    /// Cursors that end with this process.
    package static var ephemeral: SealedCursors {
        SealedCursors(SymmetricKey(size: .bits256))
    }

    /// A cursor as somebody is told it.
    func seal(_ text: String, for caller: Caller) -> String {
        guard let names = caller.accounts.names else { return text }
        let box = try? AES.GCM.seal(
            Array(text.utf8),
            using: key,
            authenticating: Array(names.joined(separator: ",").utf8)
        )
        // Neither the key nor the nonce can be of a wrong size.
        return Base64URL.encode(Array(box?.combined ?? Data()))
    }

    /// A cursor that somebody was told; nil for anything else.
    func open(_ text: String, for caller: Caller) -> String? {
        guard let names = caller.accounts.names else { return text }
        guard let bytes = Base64URL.decode(text),
            let box = try? AES.GCM.SealedBox(combined: Data(bytes)),
            let opened = try? AES.GCM.open(
                box,
                using: key,
                authenticating: Array(names.joined(separator: ",").utf8)
            )
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }
}
