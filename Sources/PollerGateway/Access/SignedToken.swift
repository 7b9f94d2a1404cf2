import Crypto
import PollerIdentity

/// The compact form of a signed token: `HEADER.PAYLOAD.SIGNATURE` with HMAC-SHA256, as in JWTs with `HS256`.
///
/// Each part is base64url without padding, in canonical form. Other spellings of the same bytes are rejected, so that
/// each token has one text. The caller must check the header before the signature.
///
/// *Source*: RFC 7515 §3.1 and §5.2, RFC 7518 §3.2.
struct SignedToken {
    /// The token as it is sent.
    let text: String
    /// The decoded parts that are signed.
    let header, payload: [UInt8]
    /// The signed text: the encoded header and payload with the dot between them.
    private let signed: [UInt8]
    private let signature: [UInt8]

    init(header: String, payload: String, key: SymmetricKey) {
        (self.header, self.payload) = (Array(header.utf8), Array(payload.utf8))
        let text = "\(Base64URL.encode(self.header)).\(Base64URL.encode(self.payload))"
        signed = Array(text.utf8)
        signature = Array(HMAC<SHA256>.authenticationCode(for: signed, using: key))
        self.text = "\(text).\(Base64URL.encode(signature))"
    }

    /// Splits a token without checking its signature.
    ///
    /// Returns `nil` for a text that is not three parts of base64url.
    init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        var decoded = parts.compactMap { part in
            Base64URL.decode(part).flatMap { Base64URL.encode($0) == part ? $0 : nil }
        }
        guard parts.count == 3, decoded.count == 3, let end = text.lastIndex(of: "."),
            let signature = decoded.popLast(), let payload = decoded.popLast(),
            let header = decoded.popLast()
        else { return nil }
        self.text = text
        (self.header, self.payload, self.signature) = (header, payload, signature)
        signed = Array(text[..<end].utf8)
    }

    /// Whether the signature is valid for a key.
    ///
    /// Every wrong signature takes the same time.
    func isSigned(with key: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: signed, using: key)
    }
}
