/// Encodes text for mail (RFC 2045 §6.7, RFC 2047).
enum QuotedPrintable {
    /// The longest encoded line, its soft break included (RFC 2045 §6.7).
    private static let lineMax = 76
    private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Encodes a body; every kind of line end becomes CRLF, no line is longer than 76.
    static func encode(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count + bytes.count / 8)
        var length = 0
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : lf
            index += 1
            if byte == cr || byte == lf {
                encoded += [cr, lf]
                length = 0
                if byte == cr, next == lf, index < bytes.count { index += 1 }
                continue
            }
            let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain =
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
                || isBlank && next != cr && next != lf
            let size = isPlain ? 1 : 3
            if length + size > lineMax - 1 {
                encoded += [UInt8(ascii: "="), cr, lf]
                length = 0
            }
            if isPlain {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
            length += size
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
