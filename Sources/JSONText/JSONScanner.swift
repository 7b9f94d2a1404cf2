// One pass over JSON, shared by all readers.
//
// Four kinds of reader need JSON here, and no library serves more than one of them. A poll reads
// seven fields of a 2 kB object and must not pay for the other sixty. A request must be rejected
// with the exact position of the error, and duplicate names and unlimited depth must be rejected
// too. Signed content must be passed on byte for byte. And a client must skip fields that a newer
// server has added. The scanner therefore builds nothing: it scans the text once, checks the
// grammar of RFC 8259, and returns positions. `RawJSON` keeps such positions and reads the values
// on demand; `JSONWriter` is the counterpart. Foundation's decoder was measured and rejected: it
// builds everything, has no limits, and does not keep the bytes. A fuzz test compares the results
// with `JSONSerialization`'s.
//
// It is used by every poll. Scanning allocates nothing for a member, callers loop instead of
// passing closures, and names are compared in place.

/// An error in a JSON text, with its position.
package struct JSONError: Error, Hashable, CustomStringConvertible {
    /// One clause without a full stop: `a comma or ] is expected here`.
    package let message: String
    /// Bytes from the beginning of the text.
    package let offset: Int

    package init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    /// Returns the position for people: `line 2, column 7`.
    package func place(in bytes: [UInt8]) -> String {
        let before = bytes[..<min(offset, bytes.count)]
        let line = before.count { $0 == 0x0A } + 1
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return "line \(line), column \(before.count - lineStart + 1)"
    }

    package var description: String { "\(message) at byte \(offset)" }
}

/// Scans a JSON text once, byte by byte, and builds only requested values.
///
/// ```
/// var scanner = JSONScanner(bytes)
/// try scanner.enterObject()
/// while let name = try scanner.nextName() {
///     if scanner.spells(name, "status") { status = scanner.text(try scanner.string()) }
///     else { try scanner.skip() }
/// }
/// try scanner.finish()
/// ```
///
/// Each value must be consumed before the next name is requested. The scanner does not check UTF-8;
/// decoding a text does.
package struct JSONScanner {
    /// A string literal: its range, and whether it must be decoded before a comparison.
    package struct Literal {
        /// The bytes between the quotes.
        package let range: Range<Int>
        /// Whether there is a backslash among them.
        package let hasEscapes: Bool
    }

    /// Deeper than any payment object; limits the stack that a hostile text can use.
    package static let depthMax = 128

    /// The whole text.
    package let bytes: [UInt8]
    /// The current position.
    package private(set) var position: Int
    private let end: Int
    private let depthMax: Int
    /// Whether a bracket was opened just now, so that no comma may precede the first element.
    private var isFresh = false

    /// Makes a scanner for a text, or for one value of it.
    package init(
        _ bytes: [UInt8],
        range: Range<Int>? = nil,
        depthMax: Int = JSONScanner.depthMax
    ) {
        self.bytes = bytes
        self.depthMax = depthMax
        position = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
    }

    /// Returns the next byte that is not white space; `nil` at the end.
    package mutating func peek() -> UInt8? {
        while position < end {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            position += 1
        }
        return nil
    }

    /// Throws unless only white space follows.
    package mutating func finish() throws(JSONError) {
        guard peek() == nil else { throw error("unexpected text after the value") }
    }

    /// Begins an object; ``nextName()`` returns its members.
    package mutating func enterObject() throws(JSONError) {
        guard peek() == UInt8(ascii: "{") else { throw error("an object is expected here") }
        position += 1
        isFresh = true
    }

    /// Begins an array; ``nextElement()`` announces its elements.
    package mutating func enterArray() throws(JSONError) {
        guard peek() == UInt8(ascii: "[") else { throw error("an array is expected here") }
        position += 1
        isFresh = true
    }

    /// Returns the name of the next member and consumes the colon after it; `nil`, once, when the
    /// object ends.
    package mutating func nextName() throws(JSONError) -> Literal? {
        guard try hasNext(UInt8(ascii: "}"), "a comma or } is expected here") else { return nil }
        guard peek() == UInt8(ascii: "\"") else { throw error("a name in quotes is expected") }
        let name = try string()
        guard peek() == UInt8(ascii: ":") else { throw error("a colon is expected here") }
        position += 1
        return name
    }

    /// Returns whether another element follows; `false`, once, when the array ends.
    package mutating func nextElement() throws(JSONError) -> Bool {
        try hasNext(UInt8(ascii: "]"), "a comma or ] is expected here")
    }

    private mutating func hasNext(
        _ closing: UInt8,
        _ otherwise: StaticString
    ) throws(JSONError) -> Bool {
        let next = peek()
        if isFresh {
            isFresh = false
            if next == closing { position += 1 }
            return next != closing
        }
        guard next == UInt8(ascii: ",") || next == closing else { throw error("\(otherwise)") }
        position += 1
        return next != closing
    }

    /// Consumes a value of any type and returns its range.
    @discardableResult
    package mutating func skip(depth: Int = 0) throws(JSONError) -> Range<Int> {
        guard depth < depthMax else {
            throw error("values are nested deeper than \(depthMax)")
        }
        let first = peek()
        let start = position
        switch first {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"):
            try enterObject()
            while try nextName() != nil { try skip(depth: depth + 1) }
        case UInt8(ascii: "["):
            try enterArray()
            while try nextElement() { try skip(depth: depth + 1) }
        default: try scalar(first)
        }
        return start..<position
    }

    /// Consumes a string.
    package mutating func string() throws(JSONError) -> Literal {
        guard peek() == UInt8(ascii: "\"") else { throw error("a string is expected here") }
        position += 1
        let start = position
        var at = ByteWord.special(in: bytes.span, from: start, end)
        var hasEscapes = false
        while at < end {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") {
                position = at + 1
                return Literal(range: start..<at, hasEscapes: hasEscapes)
            }
            guard byte >= 0x20 else {
                throw JSONError("a control character must be escaped", at: at)
            }
            hasEscapes = true
            position = at + 1
            try escape()
            at = ByteWord.special(in: bytes.span, from: position, end)
        }
        throw JSONError("the string does not end", at: at)
    }

    /// Makes an error at the current position.
    package func error(_ message: String) -> JSONError { JSONError(message, at: position) }

    private mutating func escape() throws(JSONError) {
        let byte = next
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            guard end - position >= 4,
                bytes[position..<(position + 4)].allSatisfy({ Self.hexDigit($0) != nil })
            else { throw error("four hexadecimal digits are expected") }
            position += 4
        default: throw error("this escape does not exist")
        }
    }

    private mutating func scalar(_ first: UInt8?) throws(JSONError) {
        switch first {
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): try number()
        case nil: throw error("the text ends where a value is expected")
        default: throw error("a value is expected here")
        }
    }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        let range = position..<(position + word.utf8CodeUnitCount)
        guard range.upperBound <= end, isSame(range, word) else {
            throw error("a value is expected here")
        }
        position = range.upperBound
    }

    private mutating func number() throws(JSONError) {
        if next == UInt8(ascii: "-") { position += 1 }
        let hasLeadingZero = next == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, !hasLeadingZero || whole == 1 else { throw error("this is not a number") }
        if next == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw error("digits must follow the decimal point") }
        }
        guard let byte = next, byte | 0x20 == UInt8(ascii: "e") else { return }
        position += 1
        if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
        guard digits() > 0 else { throw error("digits must follow the exponent") }
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = next, byte &- 0x30 < 10 { position += 1 }
        return position - start
    }

    private var next: UInt8? { position < end ? bytes[position] : nil }
}
