/// A fingerprint of a whole response, by which a poll detects that nothing has changed.
///
/// Most responses equal the previous one, and parsing a response is the most expensive step of a poll. The hash is
/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>) over words of 64 bits in place of bytes, which is eight times
/// as fast. A shift after each word passes its high bits on to the low ones. The result is folded to 36 bits. It need
/// not resist collisions: only the upstream writes the responses, and it gains nothing from a collision.
package enum BodyDigest {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Returns the fingerprint as six characters of URL-safe Base64.
    package static func text(of bytes: [UInt8]) -> String {
        var hash = unsafe bytes.withUnsafeBytes { unsafe digest(of: $0) }
        hash ^= hash >> 32
        return unsafe String(unsafeUninitializedCapacity: 6) { text in
            for index in 0..<6 {
                unsafe text[index] = letters[Int(truncatingIfNeeded: hash >> (6 * index) & 63)]
            }
            return 6
        }
    }

    private static func digest(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ word: UInt64) {
            hash = (hash ^ word) &* 0x100_0000_01B3
            hash ^= hash >> 29
        }
        var position = 0
        while position + 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            add(UInt64(littleEndian: word))
            position += 8
        }
        while position < bytes.count {
            add(UInt64(truncatingIfNeeded: unsafe bytes[position]))
            position += 1
        }
        return hash
    }
}
