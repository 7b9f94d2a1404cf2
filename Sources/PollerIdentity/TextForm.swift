/// The forms in which two texts are compared.
///
/// The normal form compares IDs. The folded form compares stored text with typed text: `O’Brien, Pat` has the words
/// `obrien` and `pat`, `Müller` is `muller`.
package enum TextForm {
    /// Returns the text in lower case, with single spaces.
    package static func normal(_ text: String) -> String {
        text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns a text without parts that people omit or write in several ways: accents of Latin letters, apostrophes,
    /// and punctuation between words or at their ends.
    ///
    /// Signs inside a word stay (`A-77`, `2026/0815`, `jane.doe@example.com`). A text of nothing but such signs stays
    /// as it is.
    package static func folded(_ text: String) -> String {
        let normal = normal(text)
        if normal.utf8.allSatisfy(isPlain) { return normal }
        var letters = String.UnicodeScalarView()
        for scalar in normal.unicodeScalars {
            if apostrophes.contains(scalar) { continue }
            if separators.contains(scalar) {
                letters.append(" ")
            } else if (0x300...0x36F).contains(scalar.value), letters.last?.isASCII == true {
                // The accent of the previous letter.
                continue
            } else if let base = base(of: scalar) {
                letters.append(contentsOf: base.unicodeScalars)
            } else {
                letters.append(scalar)
            }
        }
        let words = String(letters).split(separator: " ").compactMap { word -> Substring? in
            let trimmed = word.drop { ends.contains($0) }
            let end = trimmed.lastIndex { !ends.contains($0) }
            return end.map { trimmed[...$0] }
        }
        return words.isEmpty ? normal : words.joined(separator: " ")
    }

    private static let apostrophes: Set<Unicode.Scalar> = ["'", "’", "‘", "ʼ", "´", "`"]
    private static let separators: Set<Unicode.Scalar> = [
        ",", ";", "\"", "(", ")", "[", "]", "<", ">", "“", "”", "„", "«", "»",
    ]
    private static let ends: Set<Character> = [".", ":", "!", "?", "-", "–", "#", "*", "&", "/"]

    /// Whether a byte is in its folded form in any position.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: " ")
    }

    /// Returns the ASCII base of a Latin letter with an accent; `nil` for any other sign.
    ///
    /// It is derived from the letter's Unicode name, such as `LATIN SMALL LETTER O WITH STROKE`.
    private static func base(of scalar: Unicode.Scalar) -> String? {
        guard !scalar.isASCII, let name = scalar.properties.name else { return nil }
        let kinds = ["LATIN SMALL LETTER ", "LATIN SMALL LIGATURE "]
        guard let kind = kinds.first(where: name.hasPrefix) else { return nil }
        let words = name.dropFirst(kind.count).split(separator: " ")
        switch words {
        case ["SHARP", "S"]: return "ss"
        case ["DOTLESS", "I"]: return "i"
        default:
            guard let letters = words.first, letters.count <= 2, letters.allSatisfy(\.isASCII),
                words.dropFirst().first.map({ $0 == "WITH" }) ?? true
            else { return nil }
            return letters.lowercased()
        }
    }
}
