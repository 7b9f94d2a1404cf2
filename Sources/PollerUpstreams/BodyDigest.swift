/// A fingerprint of a whole answer, by which a poll knows that nothing in it has changed.
///
/// Equal answers are by far the most, and reading one costs more than all else that is done about it.
/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>), mixed and told in 36 bits: it is no
/// secret and nobody gains by two that are equal, as the upstream is who writes them.
package enum BodyDigest {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Six characters.
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
