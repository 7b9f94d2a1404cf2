package import JSONText
import SafeNumbers

// Parsing of external JSON in linear time.
//
// Problem: Foundation's `JSONDecoder` reports the type of a value only by failing to decode every other type, and
// each failure costs as much as the path to the value is long. Stripe objects keep their complete JSON as a
// `JSONValue`, so a signed body of 1.3 KB with 400 nested arrays took 1.6 s, and one of 5.8 KB took 13.7 s.
//
// Approach: `JSONScanner` reads the bytes once and builds a `JSONValue`, with limits on depth, number of values,
// string length and bytes. `JSONTreeDecoder` is a `Decoder` over that tree. Its containers are views, and a
// `JSONValue` field is used as it is. Every byte is read once, and every field is visited once per requested type.
//
// Rejected: another order of attempts in `JSONValue.init(from:)`, which still causes the failures; and
// `JSONSerialization`, which limits neither depth nor number of values and reports numbers without their type.

/// The limits of a JSON body.
package struct JSONBounds: Sendable, Hashable {
    /// The maximum nesting depth; fully expanded Stripe objects have about a dozen levels.
    package var depthMax: Int
    /// The maximum number of values, which limits the memory used by many short values.
    package var valuesMax: Int
    /// The maximum encoded length of a string in bytes; the longest documented by Stripe are pictures as `data:`
    /// URLs.
    package var stringBytesMax: Int
    /// The maximum length of the body in bytes; network readers stop earlier.
    package var bytesMax: Int

    /// The limits for all Stripe responses; a page of 100 events has about 20,000 values and 500 kB.
    package static let standard = JSONBounds(
        depthMax: 64,
        valuesMax: 200_000,
        stringBytesMax: 262_144,
        bytesMax: 16_777_216
    )

    /// Creates the limits.
    package init(depthMax: Int, valuesMax: Int, stringBytesMax: Int, bytesMax: Int) {
        self.depthMax = depthMax
        self.valuesMax = valuesMax
        self.stringBytesMax = stringBytesMax
        self.bytesMax = bytesMax
    }
}

/// Parses and decodes external JSON in time linear in its size.
///
/// *Numbers*: whole numbers of up to 64 bits are exact integers, also when written as `1.0` or `1e3`; all others are
/// `Double`. A number beyond the range of `Double` is an error.
/// *Strings*: an unpaired surrogate becomes U+FFFD, because a signed event that contains one is still genuine.
/// Invalid UTF-8 is an error. *Objects*: of duplicate members the first counts, as in `RawJSON` and `JSONDecoder`.
package enum StripeJSON {
    /// Parses a body within the given limits.
    ///
    /// - Throws: ``JSONError`` with the position; its message never includes a value.
    package static func value(
        _ bytes: some Sequence<UInt8>,
        bounds: JSONBounds = .standard
    ) throws(JSONError) -> JSONValue {
        var reader = JSONReader(Array(bytes), bounds: bounds)
        return try reader.read()
    }

    /// Parses a body and decodes a value from it.
    ///
    /// - Throws: ``JSONError`` for a body that is not JSON or exceeds the limits, `DecodingError` for a field that is
    ///   missing or has another type.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: some Sequence<UInt8>
    ) throws -> Value {
        try JSONTreeDecoder(try value(bytes)).decode(type)
    }
}

/// A parser that builds the tree of one body.
struct JSONReader {
    /// The maximum length of a number; Stripe's numbers are much shorter.
    private static let numberBytesMax = 128

    private var scanner: JSONScanner
    private let bounds: JSONBounds
    /// The number of values read so far.
    private(set) var values = 0

    init(_ bytes: [UInt8], bounds: JSONBounds) {
        scanner = JSONScanner(bytes)
        self.bounds = bounds
    }

    /// Reads the whole body: one value, surrounded only by white space.
    mutating func read() throws(JSONError) -> JSONValue {
        guard scanner.bytes.count <= bounds.bytesMax else {
            throw scanner.error("the text is longer than \(bounds.bytesMax) bytes")
        }
        let value = try value(depth: 0)
        try scanner.finish()
        return value
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < bounds.depthMax else {
            throw scanner.error("values are nested deeper than \(bounds.depthMax)")
        }
        values += 1
        guard values <= bounds.valuesMax else {
            throw scanner.error("there are more than \(bounds.valuesMax) values")
        }
        switch scanner.peek() {
        case UInt8(ascii: "\""): return .string(try text(try scanner.string()))
        case UInt8(ascii: "{"):
            var members: [String: JSONValue] = [:]
            try scanner.enterObject()
            while let literal = try scanner.nextName() {
                let name = try text(literal)
                let member = try value(depth: depth + 1)
                if members[name] == nil { members[name] = member }
            }
            return .object(members)
        case UInt8(ascii: "["):
            var items: [JSONValue] = []
            try scanner.enterArray()
            while try scanner.nextElement() { items.append(try value(depth: depth + 1)) }
            return .array(items)
        default: return try scalar()
        }
    }

    private func text(_ literal: JSONScanner.Literal) throws(JSONError) -> String {
        guard literal.range.count <= bounds.stringBytesMax else {
            throw JSONError(
                "the string is longer than \(bounds.stringBytesMax) bytes",
                at: literal.range.lowerBound
            )
        }
        return try scanner.decodeReplacing(literal)
    }

    private mutating func scalar() throws(JSONError) -> JSONValue {
        let range = try scanner.skip()
        switch scanner.bytes[range.lowerBound] {
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "n"): return .null
        default: return try number(range)
        }
    }

    private func number(_ range: Range<Int>) throws(JSONError) -> JSONValue {
        guard range.count <= Self.numberBytesMax else {
            throw JSONError(
                "the number has more than \(Self.numberBytesMax) characters",
                at: range.lowerBound
            )
        }
        let text = String(decoding: scanner.bytes[range], as: UTF8.self)
        if let whole = Int64(decimal: text) ?? Self.whole(text) { return .integer(whole) }
        guard let number = Double(text), number.isFinite else {
            throw JSONError("the number is out of range", at: range.lowerBound)
        }
        return .number(number)
    }

    /// Returns the 64-bit whole number written with a fraction or an exponent, such as `1.0` or `1.5e1`.
    ///
    /// The result is exact, because it may be an amount of money.
    private static func whole(_ text: String) -> Int64? {
        let parts = text.split(maxSplits: 1) { $0 == "e" || $0 == "E" }
        let mantissa = (parts.first ?? "").split(separator: ".", maxSplits: 1)
        let fraction = mantissa.dropFirst().first ?? ""
        var digits = String(mantissa.first ?? "") + fraction
        guard digits.contains(where: { $0 != "0" && $0 != "-" }) else { return 0 }
        // An exponent that does not fit in `Int` is far out of range.
        guard var zeros = parts.count > 1 ? Int(decimal: parts[1]) : 0, zeros.magnitude < 1000
        else {
            return nil
        }
        zeros -= fraction.count
        while zeros < 0, digits.last == "0" {
            digits.removeLast()
            zeros += 1
        }
        // 64-bit numbers have at most 19 digits.
        guard (0...19).contains(zeros) else { return nil }
        return Int64(decimal: digits + String(repeating: "0", count: zeros))
    }
}
