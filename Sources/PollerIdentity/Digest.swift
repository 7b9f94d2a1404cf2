import Crypto

/// Deterministic names that are derived from content.
package enum Digest {
    /// Returns the first `bytes` bytes of SHA-256 over the parts joined by NUL, as base64url.
    package static func base64url(of parts: [String], bytes: Int) -> String {
        // One buffer, because each event needs one digest per recipient.
        var joined: [UInt8] = []
        joined.reserveCapacity(parts.reduce(parts.count) { $0 + $1.utf8.count })
        for (index, part) in parts.enumerated() {
            if index > 0 { joined.append(0) }
            joined += part.utf8
        }
        return base64url(of: joined, bytes: bytes)
    }

    /// Returns the first `bytes` bytes of SHA-256 over some bytes, as base64url.
    package static func base64url(of joined: [UInt8], bytes: Int) -> String {
        Base64URL.encode(SHA256.hash(data: joined).prefix(bytes))
    }
}
