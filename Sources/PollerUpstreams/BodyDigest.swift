/// A fingerprint of a whole response, by which a poll detects that nothing has changed.
///
/// Most responses equal the previous one, and parsing a response is the most expensive step of a poll. The hash is
/// FNV-1a with 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>), folded to 36 bits. It need not resist
/// collisions: only the upstream writes the responses, and it gains nothing from a collision.
package enum BodyDigest {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Returns the fingerprint as six characters of URL-safe Base64.
    package static func text(of bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(truncatingIfNeeded: byte)) &* 0x100_0000_01B3 }
        hash ^= hash >> 32
        return String(
            decoding: (0..<6).map { letters[Int(truncatingIfNeeded: hash >> (6 * $0) & 63)] },
            as: UTF8.self
        )
    }
}
