package import JSONText
import SafeNumbers

// JSON from outside, read once.
//
// Problem: Foundation's `JSONDecoder` reports the type of a value only by failing to decode every other
// type, and each failure costs as much as the path to the value is long. An object of Stripe's keeps everything it
// was sent with as a `JSONValue`, so a signed body of 1.3 KB with 400 nested arrays took 1.6 s, and one of 5.8 KB 13.7 s.
//
// Approach: `JSONScanner` walks the bytes once and builds a `JSONValue`, within bounds for depth, values, string
// length and bytes. `JSONTreeDecoder` is a `Decoder` over that tree: containers are views of it, and a field that is
// a `JSONValue` is taken as it is. So every byte is read once and every field is visited once for each type
// that asks for it.
//
// Rejected: another order of attempts in `JSONValue.init(from:)`, which keeps the failures; and `JSONSerialization`,
// which bounds neither depth nor number of values and reports numbers without their type.

/// What a body may cost at most.
package struct JSONBounds: Sendable, Hashable {
    /// Values inside values; Stripe's objects with everything expanded have about a dozen.
    package var depthMax: Int
    /// Values in all: bounds the memory that short ones take.
    package var valuesMax: Int
    /// Bytes of one string as it was sent; the longest that Stripe documents are pictures as `data:` URLs.
    package var stringBytesMax: Int
    /// Bytes in all; readers of a network stop earlier.
    package var bytesMax: Int

    /// The bounds of every body of Stripe: a page of 100 events has about 20,000 values and 500 kB.
    package static let standard = JSONBounds(
        depthMax: 64,
        valuesMax: 200_000,
        stringBytesMax: 262_144,
        bytesMax: 16_777_216
    )

    /// Sets the bounds.
    package init(depthMax: Int, valuesMax: Int, stringBytesMax: Int, bytesMax: Int) {
        self.depthMax = depthMax
        self.valuesMax = valuesMax
        self.stringBytesMax = stringBytesMax
        self.bytesMax = bytesMax
    }
}

/// Reads and decodes JSON from outside in time that grows with its bytes.
///
/// *Numbers*: whole ones of 64 bits are integers, also when written as `1.0` or `1e3`, and exactly; all others are `Double`.
/// One beyond the range of `Double` is an error.
/// *Strings*: half of a surrogate pair becomes U+FFFD, because a signed event with one is still genuine; bytes that are no
/// UTF-8 are an error. *Objects*: of two members of one name the first one counts, as in `RawJSON` and `JSONDecoder`.
package enum StripeJSON {
    /// Reads a body; the bounds are ``JSONBounds/standard`` unless given.
    ///
    /// - Throws: ``JSONError`` with the place; its message never has a value.
    package static func value(
        _ bytes: some Sequence<UInt8>,
        bounds: JSONBounds = .standard
    ) throws(JSONError) -> JSONValue {
        var reader = JSONReader(Array(bytes), bounds: bounds)
        return try reader.read()
    }

    /// Reads a body and decodes a type from it.
    ///
    /// - Throws: ``JSONError`` for a body that is no JSON or beyond the bounds, `DecodingError` for a field that is
    ///   missing or has another type.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: some Sequence<UInt8>
    ) throws -> Value {
        try JSONTreeDecoder(try value(bytes)).decode(type)
    }
}

/// One walk over a body, which builds its tree.
struct JSONReader {
    /// More digits than any number of Stripe's has.
    private static let numberBytesMax = 128

    private var scanner: JSONScanner
    private let bounds: JSONBounds
    /// Values read so far.
    private(set) var values = 0

    init(_ bytes: [UInt8], bounds: JSONBounds) {
        scanner = JSONScanner(bytes)
        self.bounds = bounds
    }

    /// Reads the whole body: one value, with nothing but white space around it.
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

    /// The whole number of 64 bits that a fraction or an exponent spells, as `1.0` and `1.5e1` do; exactly, because it
    /// may be a sum of money.
    private static func whole(_ text: String) -> Int64? {
        let parts = text.split(maxSplits: 1) { $0 == "e" || $0 == "E" }
        let mantissa = (parts.first ?? "").split(separator: ".", maxSplits: 1)
        let fraction = mantissa.dropFirst().first ?? ""
        var digits = String(mantissa.first ?? "") + fraction
        guard digits.contains(where: { $0 != "0" && $0 != "-" }) else { return 0 }
        // An exponent that is no `Int` is far beyond either bound.
        guard var zeros = parts.count > 1 ? Int(decimal: parts[1]) : 0, zeros.magnitude < 1000
        else {
            return nil
        }
        zeros -= fraction.count
        while zeros < 0, digits.last == "0" {
            digits.removeLast()
            zeros += 1
        }
        // Nineteen digits are the most that 64 bits hold.
        guard (0...19).contains(zeros) else { return nil }
        return Int64(decimal: digits + String(repeating: "0", count: zeros))
    }
}
