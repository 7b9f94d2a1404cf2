import JSONText
import PollerIdentity

/// How texts are compared in a search.
///
/// Two forms: the normal one, in which ids are compared, and the folded one, in which what people write is
/// compared with what people type: `O’Brien, Pat` has the words `obrien` and `pat`, `Müller` is `muller`.
enum SearchText {
    /// In lower case, with one blank for many.
    static func normal(_ text: String) -> String {
        text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// A text without what people leave out or write in several ways: accents of Latin letters, apostrophes,
    /// and punctuation between words or at their ends.
    ///
    /// What stands inside a word stays (`A-77`, `2026/0815`, `jane.doe@example.com`). A text that is nothing
    /// but such signs stays as it is.
    static func folded(_ text: String) -> String {
        let normal = normal(text)
        if normal.utf8.allSatisfy(isPlain) { return normal }
        var letters = String.UnicodeScalarView()
        for scalar in normal.unicodeScalars {
            if apostrophes.contains(scalar) { continue }
            if separators.contains(scalar) {
                letters.append(" ")
            } else if (0x300...0x36F).contains(scalar.value), letters.last?.isASCII == true {
                // The accent of the letter before it.
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

    /// Whether a byte is in its folded form wherever it stands.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: " ")
    }

    /// What a Latin letter is without its accent, in ASCII; nil for any other sign.
    ///
    /// By its name in Unicode, `LATIN SMALL LETTER O WITH STROKE`, which says it of all of them.
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

    /// Whether a value is a text that is looked for, or has it as one of its words; both normal.
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

    /// Words of one value that are in the index.
    private static let wordsMax = 3

    /// The longest words of some values, folded.
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

    /// What a watch's metadata say under some names.
    static func values(_ names: [String], _ snapshot: WatchSnapshot) -> [String] {
        guard !snapshot.metadata.isEmpty else { return [] }
        return values(names, metadata: snapshot.metadata)
    }

    /// What metadata, a JSON object, say under some names.
    static func values(_ names: [String], metadata: String) -> [String] {
        let members = RawJSON(unchecked: metadata).members ?? []
        return names.compactMap { name in members.first { $0.name == name }?.value.string }
    }

    /// The people who are told by mail: the first, for there is rarely another.
    static func recipients(_ notify: [NotifyURL]) -> [String] {
        let prefix = "mailto:"
        guard let mail = notify.first(where: { $0.scheme == "mailto" }) else { return [] }
        return [String(mail.description.dropFirst(prefix.count))]
    }
}
