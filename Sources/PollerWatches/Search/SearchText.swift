import JSONText
import PollerIdentity

/// The comparison of texts in a search, in the forms of `TextForm`.
enum SearchText {
    /// Whether a value equals the searched text, or has it as one of its words; both normal.
    static func has(_ value: String, _ wanted: String) -> Bool {
        isIn(value, wanted) || isIn(TextForm.folded(value), TextForm.folded(wanted))
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
        return hasBeginning(value, wanted)
            || hasBeginning(TextForm.folded(value), TextForm.folded(wanted))
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
            let words = TextForm.folded(value).split(separator: " ").enumerated().sorted {
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
