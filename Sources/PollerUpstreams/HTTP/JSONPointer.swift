import JSONText
package import PollerIdentity
import SafeNumbers

/// The location of a value in a JSON document: `/payment/state`, `/items/0/status`, or empty for the whole.
///
/// The pointer is checked when the configuration is read. A poll can therefore find no value, but never fail because
/// of the pointer. An object, an array or null at the location counts as no status.
///
/// *Source*: RFC 6901; `~1` stands for `/` and `~0` for `~` in a name.
package struct JSONPointer: Hashable, Sendable {
    /// The maximum depth of a pointer.
    private static let tokensMax = 32

    private let tokens: [String]

    /// Parses a pointer; `field` is the name of the setting in errors.
    package init(_ text: String, field: String = "status") throws(InvalidInput) {
        guard text.isEmpty || text.hasPrefix("/") else {
            throw InvalidInput(field, "must be a JSON pointer such as /state")
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard parts.count <= Self.tokensMax else {
            throw InvalidInput(field, "has more than \(Self.tokensMax) steps")
        }
        var tokens: [String] = []
        for part in parts {
            let rest = part.replacing("~0", with: "").replacing("~1", with: "")
            guard !rest.contains("~") else {
                throw InvalidInput(field, "has a ~ that is neither ~0 nor ~1")
            }
            tokens.append(String(part.replacing("~1", with: "/").replacing("~0", with: "~")))
        }
        self.tokens = tokens
    }

    /// Returns the scalar at this location as text.
    ///
    /// The text is the content of a string, or a number, `true` or `false` as written.
    ///
    /// - Parameter bytes: the whole document, which is checked to its end.
    /// - Returns: `nil` for a missing value, null, an object or an array.
    /// - Throws: an error if the document is not JSON.
    func scalar(in bytes: [UInt8]) throws(JSONError) -> String? {
        try value(in: bytes)?.text
    }

    /// A scalar of a document.
    struct Scalar: Hashable {
        /// The content of a string, or a number, `true` or `false` as written.
        let text: String
        /// Whether it is a string.
        let isString: Bool
    }

    /// Returns the scalar at this location, and whether it is a string.
    ///
    /// - Throws: an error if the document is not JSON.
    func value(in bytes: [UInt8]) throws(JSONError) -> Scalar? {
        var scanner = JSONScanner(bytes)
        var found: Scalar?
        try descend(&scanner, tokens[...], &found)
        try scanner.finish()
        return found
    }

    private func descend(
        _ scanner: inout JSONScanner,
        _ rest: ArraySlice<String>,
        _ found: inout Scalar?
    ) throws(JSONError) {
        guard let token = rest.first else {
            try Self.read(&scanner, &found)
            return
        }
        let deeper = rest.dropFirst()
        switch scanner.peek() {
        case UInt8(ascii: "{"):
            try scanner.enterObject()
            while let name = try scanner.nextName() {
                // Of two members with the same name the last one counts, as in most JSON parsers (RFC 8259 §4).
                if scanner.spells(name, text: token) {
                    found = nil
                    try descend(&scanner, deeper, &found)
                } else {
                    try scanner.skip()
                }
            }
        case UInt8(ascii: "["):
            // Neither `01` nor `+1` is an index.
            let wanted = Int(decimal: token).flatMap { String($0) == token ? $0 : nil }
            var index = 0
            try scanner.enterArray()
            while try scanner.nextElement() {
                if index == wanted {
                    try descend(&scanner, deeper, &found)
                } else {
                    try scanner.skip()
                }
                index += 1
            }
        default: try scanner.skip()
        }
    }

    private static func read(
        _ scanner: inout JSONScanner,
        _ found: inout Scalar?
    ) throws(JSONError) {
        switch scanner.peek() {
        case UInt8(ascii: "\""):
            let literal = try scanner.string()
            found = scanner.text(literal).map { Scalar(text: $0, isString: true) }
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"): try scanner.skip()
        default:
            let range = try scanner.skip()
            let text = String(decoding: scanner.bytes[range], as: UTF8.self)
            found = Scalar(text: text, isString: false)
        }
    }
}
