/// Encodes text for mail (RFC 2045 §6.7, RFC 2047).
enum QuotedPrintable {
    /// The longest encoded line, its soft break included (RFC 2045 §6.7).
    private static let lineMax = 76

    /// Encodes a body; every kind of line end becomes CRLF, no line is longer than 76.
    static func encode(_ text: String) -> String {
        let lines = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map(encodeLine).joined(separator: "\r\n")
    }

    private static func encodeLine(_ line: some StringProtocol) -> String {
        var encoded = ""
        var length = 0
        let bytes = Array(line.utf8)
        for (index, byte) in bytes.enumerated() {
            let isLast = index == bytes.count - 1
            let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain =
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=") || isBlank && !isLast
            let piece = isPlain ? String(UnicodeScalar(byte)) : "=\(hex(byte))"
            if length + piece.utf8.count > lineMax - 1 {
                encoded += "=\r\n"
                length = 0
            }
            encoded += piece
            length += piece.utf8.count
        }
        return encoded
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.utf8.count == 1 ? "0" + digits : digits
    }
}
