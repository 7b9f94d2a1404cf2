/// Base64url without padding (RFC 4648 §5), which is safe in keys, URLs and file names.
package enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// The value of each character; ``notInAlphabet`` for any other.
    private static let values: [UInt8] = {
        var values = Array(repeating: notInAlphabet, count: 256)
        for (value, character) in alphabet.enumerated() {
            values[Int(truncatingIfNeeded: character)] = UInt8(truncatingIfNeeded: value)
        }
        return values
    }()
    private static let notInAlphabet = UInt8.max

    /// Encodes bytes; three bytes become four characters.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 4 / 3 + 3)
        var bits = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | Int(truncatingIfNeeded: byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[bits >> count & 63])
            }
            bits &= (1 << count) - 1
        }
        if count > 0 { text.append(alphabet[bits << (6 - count) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes text; `nil` when a character is not in the alphabet.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let values = values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var bits = 0
        var count = 0
        for character in text.utf8 {
            let value = values[Int(truncatingIfNeeded: character)]
            guard value != notInAlphabet else { return nil }
            bits = bits << 6 | Int(truncatingIfNeeded: value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
            bits &= (1 << count) - 1
        }
        return bytes
    }
}
