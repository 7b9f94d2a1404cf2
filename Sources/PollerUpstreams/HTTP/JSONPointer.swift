import JSONText
import Poller
package import PollerIdentity
import SafeNumbers

/// A place in a JSON document: `/payment/state`, `/items/0/status`, or empty for the whole.
///
/// Checked when the configuration is read, so that a poll can only find nothing there, never fail
/// over the pointer itself. A status that is an object, an array or null is none.
///
/// *Source*: RFC 6901; `~1` stands for `/` and `~0` for `~` in a name.
package struct JSONPointer: Hashable, Sendable {
    /// Deeper than anybody's status.
    private static let tokensMax = 32

    private let tokens: [String]

    /// Reads a pointer; `field` is what a person finds it under.
    package init(_ text: String, field: String = "status") throws(InvalidInput) {
        guard text.isEmpty || text.hasPrefix("/") else {
            throw InvalidInput(field: field, message: "must be a JSON pointer such as /state")
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard parts.count <= Self.tokensMax else {
            throw InvalidInput(field: field, message: "has more than \(Self.tokensMax) steps")
        }
        var tokens: [String] = []
        for part in parts {
            let rest = part.replacing("~0", with: "").replacing("~1", with: "")
            guard !rest.contains("~") else {
                throw InvalidInput(field: field, message: "has a ~ that is neither ~0 nor ~1")
            }
            tokens.append(String(part.replacing("~1", with: "/").replacing("~0", with: "~")))
        }
        self.tokens = tokens
    }

    /// The scalar at this place as text: a string's content, or a number, `true`, `false` as
    /// written.
    ///
    /// - Parameter bytes: the whole document, which is checked to its end.
    /// - Returns: nil when there is nothing, null, or an object or array.
    /// - Throws: when the document is no JSON.
    func scalar(in bytes: [UInt8]) throws(JSONError) -> String? {
        try value(in: bytes)?.text
    }

    /// A scalar of a document.
    struct Scalar: Hashable {
        /// A string's content, or a number, `true`, `false` as written.
        let text: String
        /// Whether it is a string.
        let isString: Bool
    }

    /// The scalar at this place, and whether it is a string.
    ///
    /// - Throws: when the document is no JSON.
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
                // The last of two members of one name counts, as for most readers of JSON (RFC 8259 §4).
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
