/// Removes sent secrets from the responses of other systems.
///
/// *Problem*: a recipient, a relay or an upstream may repeat the request in its response, and a part of the response is
/// stored and shown to every viewer. *Approach*: each value is searched as it was sent, without its scheme (`Bearer
/// …`), and in any JSON escaping. *Limits*: other encodings (percent signs, HTML) are not recognised, and a value of
/// less than `bytesMin` bytes is not considered a secret.
package struct Redaction: Sendable {
    private static let mark = Array("(redacted)".utf8)

    private let bytesMin: Int
    /// The values, the longest first, because one may begin with another.
    private let values: [[UInt8]]
    /// The first bytes of the values.
    private let beginnings: Set<UInt8>

    package init(_ values: some Sequence<String>, bytesMin: Int = 4) {
        var wanted: Set<[UInt8]> = []
        for value in values {
            wanted.insert(Array(value.utf8))
            let parts = value.split(separator: " ", maxSplits: 1)
            if parts.count == 2, let word = parts.first, let rest = parts.last,
                word.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) })
            {
                wanted.insert(Array(rest.utf8))
            }
        }
        self.bytesMin = bytesMin
        self.values = wanted.filter { $0.count >= bytesMin }.sorted { one, other in
            one.count != other.count
                ? one.count > other.count : one.lexicographicallyPrecedes(other)
        }
        beginnings = Set(self.values.map { $0[0] })
    }

    /// The redaction without values.
    package static let none = Redaction([])

    /// Returns a text without the values; if the text was truncated within a value, the beginning of the value is
    /// removed, too.
    package func text(_ bytes: [UInt8]) -> [UInt8] {
        if values.isEmpty { return bytes }
        var redacted: [UInt8] = []
        var at = 0
        while at < bytes.count {
            if let end = end(at: at, of: bytes, isJSON: false)
                ?? end(at: at, of: bytes, isJSON: true)
            {
                redacted += Self.mark
                at = end
            } else {
                redacted.append(bytes[at])
                at += 1
            }
        }
        return redacted
    }

    /// Returns a JSON text without the values.
    ///
    /// Only strings are changed, so that it stays valid JSON, and no names of members, by which readers find their
    /// data.
    package func json(_ bytes: [UInt8]) -> [UInt8] {
        if values.isEmpty { return bytes }
        var redacted: [UInt8] = []
        redacted.reserveCapacity(bytes.count)
        var (at, isInside) = (0, false)
        while at < bytes.count {
            if !isInside, bytes[at] == UInt8(ascii: "\""),
                let end = Self.endOfName(at: at, in: bytes)
            {
                redacted += bytes[at..<end]
                at = end
                continue
            }
            if isInside, let end = end(at: at, of: bytes, isJSON: true) {
                redacted += Self.mark
                at = end
                continue
            }
            let byte = bytes[at]
            redacted.append(byte)
            at += 1
            if byte == UInt8(ascii: "\"") {
                isInside.toggle()
            } else if isInside, byte == UInt8(ascii: "\\"), at < bytes.count {
                redacted.append(bytes[at])
                at += 1
            }
        }
        return redacted
    }

    /// Returns the end of a member's name that begins at this quotation mark; `nil` when the string is not a name.
    private static func endOfName(at start: Int, in bytes: [UInt8]) -> Int? {
        var at = start + 1
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
            at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = at + 1
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        var next = end
        while next < bytes.count, blanks.contains(bytes[next]) { next += 1 }
        return next < bytes.count && bytes[next] == UInt8(ascii: ":") ? end : nil
    }

    /// Returns the end of a value that begins here; `nil` when none does.
    private func end(at start: Int, of bytes: [UInt8], isJSON: Bool) -> Int? {
        let first = bytes[start]
        guard beginnings.contains(first) || isJSON && first == UInt8(ascii: "\\") else {
            return nil
        }
        for value in values {
            if let end = Self.end(of: value, at: start, in: bytes, isJSON, least: bytesMin) {
                return end
            }
        }
        return nil
    }

    private static func end(
        of value: [UInt8],
        at start: Int,
        in bytes: [UInt8],
        _ isJSON: Bool,
        least: Int
    ) -> Int? {
        var at = start
        for (index, wanted) in value.enumerated() {
            // The text was truncated here, and the rest would show the beginning of the value.
            guard at < bytes.count else { return index >= least ? at : nil }
            guard isJSON else {
                guard bytes[at] == wanted else { return nil }
                at += 1
                continue
            }
            guard let (found, next) = character(at: at, of: bytes), found == wanted else {
                return nil
            }
            at = next
        }
        return at
    }

    /// Returns the ASCII character of a JSON string at this position, and the position of the next one.
    private static func character(at: Int, of bytes: [UInt8]) -> (UInt8, next: Int)? {
        let byte = bytes[at]
        if byte == UInt8(ascii: "\"") { return nil }
        guard byte == UInt8(ascii: "\\") else { return (byte, at + 1) }
        guard at + 1 < bytes.count else { return nil }
        let escaped = bytes[at + 1]
        guard escaped == UInt8(ascii: "u") else {
            let stands = [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/")]
            return stands.contains(escaped) ? (escaped, at + 2) : nil
        }
        guard at + 6 <= bytes.count else { return nil }
        let digits = String(decoding: bytes[(at + 2)..<(at + 6)], as: UTF8.self)
        return UInt8(digits, radix: 16).map { ($0, at + 6) }
    }
}
