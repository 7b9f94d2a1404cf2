import JSONText
import PollerIdentity

/// The comparison of texts in a search.
///
/// There are two forms. The normal form compares IDs. The folded form compares stored text with typed text: `O’Brien,
/// Pat` has the words `obrien` and `pat`, `Müller` is `muller`.
enum SearchText {
    /// Returns the text in lower case, with single spaces.
    static func normal(_ text: String) -> String {
        text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns a text without parts that people omit or write in several ways: accents of Latin letters, apostrophes,
    /// and punctuation between words or at their ends.
    ///
    /// Signs inside a word stay (`A-77`, `2026/0815`, `jane.doe@example.com`). A text of nothing but such signs stays
    /// as it is.
    static func folded(_ text: String) -> String {
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

    /// Whether a value equals the searched text, or has it as one of its words; both normal.
    static func has(_ value: String, _ wanted: String) -> Bool {
        isIn(value, wanted) || isIn(folded(value), folded(wanted))
    }

    /// Whether a value is the searched text, or has a word with this prefix; both normal.
    ///
    /// The longest word of a prefix has at least ``IndexedWord/beginningMin`` characters, as in the index. A shorter
    /// text is a whole word, because as a prefix it would find a tenth of everything.
    static func begins(_ value: String, _ wanted: String) -> Bool {
        let longest = longestWords(of: [wanted]).first ?? ""
        guard IndexedWord(beginningOf: longest)?.isBeginning ?? false else {
            return has(value, wanted)
        }
        return hasBeginning(value, wanted) || hasBeginning(folded(value), folded(wanted))
    }

    private static func hasBeginning(_ value: String, _ wanted: String) -> Bool {
        value.hasPrefix(wanted) || value.contains(" \(wanted)")
    }

    private static func isIn(_ value: String, _ wanted: String) -> Bool {
        value == wanted || value.split(separator: " ").contains(wanted[...])
    }

    /// The number of indexed words of one value.
    private static let wordsMax = 3

    /// Returns the longest words of some values, folded.
    ///
    /// The longest word of each value comes first, so that each value has one under a limit. Of equally long words the
    /// first one counts.
    static func longestWords(of values: [String]) -> [String] {
        let each = values.map { value in
            let words = folded(value).split(separator: " ").enumerated().sorted {
                $0.element.count == $1.element.count
                    ? $0.offset < $1.offset : $0.element.count > $1.element.count
            }
            return words.prefix(wordsMax).map { String($0.element) }
        }
        return (0..<wordsMax).flatMap { at in each.compactMap { at < $0.count ? $0[at] : nil } }
    }

    /// Returns the values of a watch's metadata with some names.
    static func values(_ names: [String], _ snapshot: WatchSnapshot) -> [String] {
        guard !snapshot.metadata.isEmpty else { return [] }
        return values(names, metadata: snapshot.metadata)
    }

    /// Returns the values of a JSON object of metadata with some names.
    static func values(_ names: [String], metadata: String) -> [String] {
        let members = RawJSON(unchecked: metadata).members ?? []
        return names.compactMap { name in members.first { $0.name == name }?.value.string }
    }

    /// Returns the email recipients: only the first, because there is rarely another.
    static func recipients(_ notify: [NotifyURL]) -> [String] {
        let prefix = "mailto:"
        guard let mail = notify.first(where: { $0.scheme == "mailto" }) else { return [] }
        return [String(mail.description.dropFirst(prefix.count))]
    }
}
