import Foundation

/// A JSON text that is passed on as it came, byte for byte, and is known to be well formed.
package struct RawJSON: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    package let description: String

    /// Wraps a text somebody has already parsed.
    package init(unchecked text: String) {
        description = text
    }

    /// The object without one of its own members; nested ones of that name stay.
    ///
    /// Used to keep `client_secret` out of events. Text that is no object comes back unchanged.
    package func removing(member name: String) -> RawJSON {
        var bytes = Array(description.utf8)
        // A hostile upstream may name a member twice; every one of them goes.
        while true {
            var scanner = MemberScanner(text: bytes)
            guard let range = scanner.range(ofMember: name) else { break }
            bytes.removeSubrange(range)
        }
        return RawJSON(unchecked: String(decoding: bytes, as: UTF8.self))
    }

    /// The object without its own `client_secret`, and with those in URLs inside it blanked:
    /// Stripe's redirect and return URLs carry `?client_secret=…`.
    package func withoutClientSecrets() -> RawJSON {
        let name = Array("client_secret=".utf8)
        let bytes = Array(removing(member: "client_secret").description.utf8)
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            kept.append(bytes[position])
            position += 1
            if kept.count >= name.count, kept.suffix(name.count).elementsEqual(name) {
                kept += Array("redacted".utf8)
                while position < bytes.count, !Self.endsQueryValue(bytes[position]) {
                    position += 1
                }
            }
        }
        return RawJSON(unchecked: String(decoding: kept, as: UTF8.self))
    }

    /// `"` ends the string, `&` and `#` the value; a backslash begins an escaped one of them.
    private static func endsQueryValue(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\\")].contains(
            byte
        )
    }

    /// A string as a JSON literal with its quotes, escaped as RFC 8259 §7 asks.
    package static func literal(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += Array("\\\"".utf8)
            case UInt8(ascii: "\\"): bytes += Array("\\\\".utf8)
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x0D: bytes += Array("\\r".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case 0..<0x20:
                let hex = String(byte, radix: 16)
                bytes += Array("\\u\(String(repeating: "0", count: 4 - hex.count))\(hex)".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Finds one member of the outermost object in a well-formed JSON text, in one pass.
private struct MemberScanner {
    private let text: [UInt8]
    private var depth = 0
    private var position = 0

    init(text: [UInt8]) {
        self.text = text
    }

    /// The bytes from the member's name to its end, with one of the commas beside it.
    mutating func range(ofMember name: String) -> Range<Int>? {
        let wanted = Array(name.utf8)
        var memberStart = 0
        var isName = true
        var found: Int?
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""):
                let start = position
                skipString()
                if depth == 1, isName, isSpelled(wanted, text[(start + 1)..<position]) {
                    found = memberStart
                }
            case UInt8(ascii: "[") where depth == 0: return nil
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth == 1 { memberStart = position + 1 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 1, let found { return trimmed(found..<position) }
                depth -= 1
            case UInt8(ascii: ":") where depth == 1: isName = false
            case UInt8(ascii: ",") where depth == 1:
                if let found { return trimmed(found..<position) }
                memberStart = position
                isName = true
            default: break
            }
            position += 1
        }
        return nil
    }

    /// Whether the inside of a literal spells a name; JSON may write any letter as an escape.
    private func isSpelled(_ name: [UInt8], _ literal: ArraySlice<UInt8>) -> Bool {
        guard literal.contains(UInt8(ascii: "\\")) else { return literal.elementsEqual(name) }
        let quote = [UInt8(ascii: "\"")]
        let decoded = try? JSONDecoder().decode(
            String.self,
            from: Data(quote + Array(literal) + quote)
        )
        // A literal that cannot be read spells no name.
        return decoded.map { $0.utf8.elementsEqual(name) } ?? false
    }

    /// Takes the comma after the first member when there is none before it.
    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        let hasCommaBefore = text[range.lowerBound] == UInt8(ascii: ",")
        let hasCommaAfter = text[range.upperBound] == UInt8(ascii: ",")
        return !hasCommaBefore && hasCommaAfter ? range.lowerBound..<(range.upperBound + 1) : range
    }

    /// Moves from an opening quote to its closing one.
    private mutating func skipString() {
        position += 1
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        // Text cut off in an escape, which well-formed text is not, must not lead past its end.
        position = min(position, text.count)
    }
}
