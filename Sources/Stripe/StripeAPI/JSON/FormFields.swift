/// Converts nested values to form parameters, like Stripe's SDKs.
///
/// *Shape*: `owner[address][city]=Berlin`, `types[]=a&types[]=b`, `items[][type]=sku`. Null becomes an empty string,
/// which unsets a field. Members are sorted by name, so equal values produce equal forms. Another process that
/// repeats a request with the same idempotency key must send the same bytes.
/// *Source*: <https://docs.stripe.com/api> and `URLEncoder` of stripe-ios.
enum FormFields {
    /// Returns the parameters of an object; an empty list for any other value.
    static func pairs(of value: JSONValue) -> [(String, String)] {
        var pairs: [(String, String)] = []
        for (name, member) in (value.object ?? [:]).sorted(by: { $0.key < $1.key }) {
            append(member, named: name, to: &pairs)
        }
        return pairs
    }

    private static func append(
        _ value: JSONValue,
        named name: String,
        to pairs: inout [(String, String)]
    ) {
        switch value {
        case .null: pairs.append((name, ""))
        case .bool(let flag): pairs.append((name, flag ? "true" : "false"))
        case .integer(let number): pairs.append((name, String(number)))
        case .number(let number): pairs.append((name, String(number)))
        case .string(let text): pairs.append((name, text))
        case .array(let items):
            for item in items { append(item, named: name + "[]", to: &pairs) }
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                append(member, named: "\(name)[\(key)]", to: &pairs)
            }
        }
    }
}

/// Percent-encoding (RFC 3986): every character except the unreserved ones is escaped.
enum PercentEncoding {
    private static let hex = Array("0123456789ABCDEF".utf8)

    /// Appends the escaped `text` to `output`.
    private static func append(_ text: String, to output: inout String, keeping kept: String = "") {
        for byte in text.utf8 {
            if isUnreserved(byte) || kept.utf8.contains(byte) {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output.append("%")
                output.unicodeScalars.append(
                    Unicode.Scalar(hex[Int(truncatingIfNeeded: byte >> 4)])
                )
                output.unicodeScalars.append(
                    Unicode.Scalar(hex[Int(truncatingIfNeeded: byte & 15)])
                )
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

    /// Joins pairs as `name=value&name=value`.
    ///
    /// Brackets in names are not escaped, as in Stripe's SDKs.
    static func form(_ pairs: [(String, String)]) -> String {
        var output = ""
        for (name, value) in pairs {
            if !output.isEmpty { output.append("&") }
            append(name, to: &output, keeping: "[]")
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
