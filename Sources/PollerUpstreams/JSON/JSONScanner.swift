import Foundation

/// Walks a JSON text once, byte by byte, and builds nothing but what it is asked for.
///
/// Written by hand because it stands in the hot path: a poll looks at seven fields of a 2 kB object,
/// and `JSONDecoder` spends more on building the other sixty than the whole HTTP exchange costs.
/// It checks the grammar of RFC 8259 as it goes, so that what passes can be stored and passed on as
/// JSON; whether the text is UTF-8 is the business of whoever makes a `String` of it. A fuzz test
/// compares its verdicts with `JSONSerialization`'s.
struct JSONScanner {
    /// The text is not JSON, or not of the expected shape; the offset is in bytes.
    struct Malformed: Error, Hashable, CustomStringConvertible {
        let what: String
        let offset: Int

        var description: String { "\(what) at byte \(offset)" }
    }

    /// A string literal: where its inside is, and whether it must be decoded to be compared.
    struct Literal {
        let range: Range<Int>
        let hasEscapes: Bool
    }

    /// Deeper than any object of a payment; bounds the stack a hostile text can use.
    static let depthMax = 128

    let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The next byte that is not white space; nil at the end.
    mutating func peek() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            position += 1
        }
        return nil
    }

    /// Takes one punctuation mark.
    mutating func take(_ wanted: Unicode.Scalar) throws(Malformed) {
        guard peek() == UInt8(ascii: wanted) else { throw malformed("expected \(wanted)") }
        position += 1
    }

    /// Nothing but white space may follow.
    mutating func end() throws(Malformed) {
        guard peek() == nil else { throw malformed("something follows the value") }
    }

    /// Walks the members of an object; `visit` must take each value, by ``skip(depth:)`` if by
    /// nothing else.
    mutating func members(
        _ visit: (inout JSONScanner, Literal) throws(Malformed) -> Void
    ) throws(Malformed) {
        try take("{")
        if peek() == UInt8(ascii: "}") {
            position += 1
            return
        }
        while true {
            let name = try string()
            try take(":")
            try visit(&self, name)
            guard peek() == UInt8(ascii: ",") else { break }
            position += 1
        }
        try take("}")
    }

    /// Walks the elements of an array, as ``members(_:)`` does those of an object.
    mutating func elements(
        _ visit: (inout JSONScanner) throws(Malformed) -> Void
    ) throws(Malformed) {
        try take("[")
        if peek() == UInt8(ascii: "]") {
            position += 1
            return
        }
        while true {
            try visit(&self)
            guard peek() == UInt8(ascii: ",") else { break }
            position += 1
        }
        try take("]")
    }

    /// Takes a value of any type and returns where it is.
    @discardableResult
    mutating func skip(depth: Int = 0) throws(Malformed) -> Range<Int> {
        guard depth < Self.depthMax else { throw malformed("nested too deeply") }
        guard let first = peek() else { throw malformed("a value is missing") }
        let start = position
        switch first {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"):
            try members { (scanner, _) throws(Malformed) in try scanner.skip(depth: depth + 1) }
        case UInt8(ascii: "["):
            try elements { (scanner) throws(Malformed) in try scanner.skip(depth: depth + 1) }
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
        return start..<position
    }

    /// Takes a string.
    mutating func string() throws(Malformed) -> Literal {
        try take("\"")
        let start = position
        var at = position
        var hasEscapes = false
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") {
                position = at + 1
                return Literal(range: start..<at, hasEscapes: hasEscapes)
            }
            at += 1
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                position = at
                try escape()
                at = position
            } else if byte < 0x20 {
                position = at - 1
                throw malformed("a control character in a string")
            }
        }
        position = at
        throw malformed("a string does not end")
    }

    /// A literal as text; nil when it is no UTF-8 or escapes what is no character.
    func text(_ literal: Literal) -> String? {
        guard literal.hasEscapes else {
            return String(validating: bytes[literal.range], as: UTF8.self)
        }
        // Rare, so the library may do it: no field we compare needs an escape.
        let quoted = bytes[(literal.range.lowerBound - 1)...literal.range.upperBound]
        return try? JSONDecoder().decode(String.self, from: Data(quoted))
    }

    /// Whether a literal spells a name; JSON may write any letter as an escape.
    func spells(_ literal: Literal, _ name: StaticString) -> Bool {
        if literal.hasEscapes { return text(literal) == "\(name)" }
        guard literal.range.count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { wanted in
            for (offset, position) in literal.range.enumerated()
            where unsafe wanted[offset] != bytes[position] { return false }
            return true
        }
    }

    func malformed(_ what: String) -> Malformed { Malformed(what: what, offset: position) }

    private mutating func escape() throws(Malformed) {
        guard position < bytes.count else { throw malformed("a string does not end") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            let end = position + 4
            guard end <= bytes.count, bytes[position..<end].allSatisfy(Self.isHexDigit) else {
                throw malformed("\\u needs four hexadecimal digits")
            }
            position = end
        default: throw malformed("an escape that JSON does not have")
        }
    }

    private mutating func word(_ word: StaticString) throws(Malformed) {
        let end = position + word.utf8CodeUnitCount
        let range = position..<end
        guard end <= bytes.count, spells(Literal(range: range, hasEscapes: false), word) else {
            throw malformed("no JSON value")
        }
        position = end
    }

    private mutating func number() throws(Malformed) {
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if next == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        guard let byte = next, byte | 0x20 == UInt8(ascii: "e") else { return }
        position += 1
        if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
        try digits()
    }

    private mutating func digits() throws(Malformed) {
        let start = position
        while let byte = next, Self.isDigit(byte) { position += 1 }
        guard position > start else { throw malformed("no JSON value") }
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 6
    }
}
