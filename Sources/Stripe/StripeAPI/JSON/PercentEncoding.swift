/// Percent-encoding of RFC 3986: everything but unreserved characters is escaped.
enum PercentEncoding {
    private static let hex = Array("0123456789ABCDEF".utf8)

    /// Appends `text`, escaped, to `output`.
    static func append(_ text: String, to output: inout String) {
        for byte in text.utf8 {
            if isUnreserved(byte) {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output.append("%")
                output.unicodeScalars.append(Unicode.Scalar(hex[Int(byte >> 4)]))
                output.unicodeScalars.append(Unicode.Scalar(hex[Int(byte & 15)]))
            }
        }
    }

    /// Escapes one path segment or parameter.
    static func encode(_ text: String) -> String {
        if text.utf8.allSatisfy(isUnreserved) { return text }
        var output = ""
        append(text, to: &output)
        return output
    }

    /// Joins pairs as `name=value&name=value`; brackets in names stay readable, as Stripe's SDKs send them.
    static func form(_ pairs: [(String, String)]) -> String {
        var output = ""
        for (name, value) in pairs {
            if !output.isEmpty { output.append("&") }
            for character in name {
                if character == "[" || character == "]" {
                    output.append(character)
                } else {
                    append(String(character), to: &output)
                }
            }
            output.append("=")
            append(value, to: &output)
        }
        return output
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
