// The text of literals: compared in place, and decoded.

extension JSONScanner {
    /// Returns whether a literal has a given name; JSON may write any letter as an escape.
    package func spells(_ literal: Literal, _ name: StaticString) -> Bool {
        if literal.hasEscapes { return text(literal) == "\(name)" }
        return literal.range.count == name.utf8CodeUnitCount && isSame(literal.range, name)
    }

    /// Returns whether a literal has a name known only at run time, byte for byte (RFC 6901 §4).
    package func spells(_ literal: Literal, text: String) -> Bool {
        if literal.hasEscapes { return self.text(literal)?.utf8.elementsEqual(text.utf8) ?? false }
        return literal.range.count == text.utf8.count
            && bytes[literal.range].elementsEqual(text.utf8)
    }

    /// Returns the text of a literal; `nil` if it is not UTF-8 or has an invalid escape.
    package func text(_ literal: Literal) -> String? { try? decode(literal) }

    /// Returns the text of a literal.
    ///
    /// Errors: bytes that are not UTF-8, and half a surrogate pair.
    package func decode(_ literal: Literal) throws(JSONError) -> String {
        let range = literal.range
        // Validation is generic code, which takes several times as long as the copy.
        if !literal.hasEscapes, bytes[range].allSatisfy({ $0 < 0x80 }) {
            return String(decoding: bytes[range], as: UTF8.self)
        }
        let text =
            literal.hasEscapes
            ? String(validating: try unescaped(range), as: UTF8.self)
            : String(validating: bytes[range], as: UTF8.self)
        guard let text else {
            throw JSONError("the string is not valid UTF-8", at: range.lowerBound)
        }
        return text
    }

    /// Returns the text of a literal, with U+FFFD in place of each half of a surrogate pair.
    ///
    /// For senders that split a string between two halves: the rest of the text is still useful.
    /// Errors: bytes that are not UTF-8.
    package func decodeReplacing(_ literal: Literal) throws(JSONError) -> String {
        guard literal.hasEscapes else { return try decode(literal) }
        let bytes = try unescaped(literal.range, replacement: Array("\u{FFFD}".utf8))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw JSONError("the string is not valid UTF-8", at: literal.range.lowerBound)
        }
        return text
    }

    func isSame(_ range: Range<Int>, _ word: StaticString) -> Bool {
        word.withUTF8Buffer { wanted in
            for (offset, position) in range.enumerated()
            where unsafe wanted[offset] != bytes[position] { return false }
            return true
        }
    }

    /// Decodes a literal whose escapes are known to be valid.
    ///
    /// `replacement` is written for half of a surrogate pair, which is an error without one.
    private func unescaped(
        _ range: Range<Int>,
        replacement: [UInt8]? = nil
    ) throws(JSONError) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var at = range.lowerBound
        while at < range.upperBound {
            guard bytes[at] == UInt8(ascii: "\\") else {
                text.append(bytes[at])
                at += 1
                continue
            }
            let escaped = bytes[at + 1]
            at += 2
            switch escaped {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                if let scalar = scalar(at: &at, range.upperBound) {
                    text.append(contentsOf: UTF8.encode(scalar) ?? .init())
                } else if let replacement {
                    text.append(contentsOf: replacement)
                } else {
                    throw JSONError("half of a surrogate pair is missing", at: at)
                }
            default: text.append(escaped)
            }
        }
        return text
    }

    /// Returns the character of one or two `\u…` escapes; the first `\u` is already consumed.
    private func scalar(at position: inout Int, _ end: Int) -> Unicode.Scalar? {
        let high = hexUnit(at: position)
        position += 4
        guard (0xD800..<0xDC00).contains(high) else { return Unicode.Scalar(high) }
        guard end - position >= 6, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return nil }
        let low = hexUnit(at: position + 2)
        guard (0xDC00..<0xE000).contains(low) else { return nil }
        position += 6
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    }

    private func hexUnit(at position: Int) -> UInt32 {
        bytes[position..<(position + 4)].reduce(0) { $0 << 4 | (Self.hexDigit($1) ?? 0) }
    }

    static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(truncatingIfNeeded: byte) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(truncatingIfNeeded: byte) - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(truncatingIfNeeded: byte) - 0x37
        default: nil
        }
    }
}
