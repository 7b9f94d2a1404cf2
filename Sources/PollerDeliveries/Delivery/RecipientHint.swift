import Crypto
import Foundation
package import PollerIdentity

/// The masked address of the recipient in the link at the end of a mail, readable by this cluster only.
///
/// The token of the link is a digest, so a recipient who follows it would be in the list of suppressed recipients
/// without a name. The hint is the masked address (`MailAddress.masked`), encrypted with a key of the cluster.
///
/// *Format*: base64url of AES-GCM's ciphertext and tag, some fifty characters. The nonce is an HMAC of the entry, and
/// the entry determines the plaintext. So a nonce is never used for two texts, and every attempt of a mail has the same
/// link.
extension UnsubscribeTokens {
    /// The size limit, longer than the hint of the longest address.
    private static let hintMax = 400

    /// Returns the hint of a recipient for the link that suppresses an entry.
    package func hint(of recipient: MailAddress, in entry: SuppressionEntry) -> String {
        let box = try? AES.GCM.seal(
            Array(recipient.masked.utf8),
            using: hintKey,
            nonce: AES.GCM.Nonce(data: nonce(of: entry))
        )
        // The sizes of the key and the nonce are always valid.
        return Base64URL.encode(box.map { Array($0.ciphertext) + Array($0.tag) } ?? [])
    }

    /// Decrypts a hint; `nil` for a text that this cluster did not create, or created for another entry.
    package func masked(ofHint text: String, in entry: SuppressionEntry) -> String? {
        guard text.utf8.count <= Self.hintMax, let bytes = Base64URL.decode(text),
            let nonce = try? AES.GCM.Nonce(data: nonce(of: entry)),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce,
                ciphertext: bytes.dropLast(16),
                tag: bytes.suffix(16)
            ), let opened = try? AES.GCM.open(box, using: hintKey)
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }

    private var hintKey: SymmetricKey { SymmetricKey(data: code("recipient hint")) }

    private func nonce(of entry: SuppressionEntry) -> [UInt8] {
        Array(code("nonce of \(entry.id)").prefix(12))
    }

    private func code(_ purpose: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8), using: key))
    }
}
