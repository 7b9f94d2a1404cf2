/// Words with places for values, of which some may not be known.
///
/// *Shape*: `{name}` is a value. `[a|b|c]` is the first of the three whose values are all known, and
/// nothing when there is none: `Thank you. [{amount} has arrived.|The payment has arrived.]`. So each
/// sentence is whole in each language, whatever is known. What a value holds is never read again.
struct WordPattern: Hashable, Sendable {
    /// A piece of words.
    private enum Piece: Hashable, Sendable {
        case text(String)
        case value(String)
    }

    /// What stands between two brackets, or outside of them.
    private struct Section: Hashable, Sendable {
        let isChoice: Bool
        let alternatives: [[Piece]]

        var names: [String] {
            alternatives.flatMap(\.self).compactMap { piece in
                if case .value(let name) = piece { name } else { nil }
            }
        }
    }

    private let sections: [Section]
    /// The values that are named anywhere.
    let values: Set<String>
    /// Those that stand outside brackets, and so must always be known.
    let required: Set<String>

    /// Reads words; nil when a bracket or a brace is left open or stands within another.
    init?(_ words: String) {
        var sections: [Section] = []
        var rest = words[...]
        while let first = rest.first {
            let isChoice = first == "["
            var inner = rest.prefix { $0 != "[" }
            var end = inner.endIndex
            if isChoice {
                guard let close = rest.firstIndex(of: "]") else { return nil }
                inner = rest[rest.index(after: rest.startIndex)..<close]
                end = rest.index(after: close)
            }
            let parts =
                isChoice ? inner.split(separator: "|", omittingEmptySubsequences: false) : [inner]
            let alternatives = parts.compactMap(Self.pieces)
            guard alternatives.count == parts.count else { return nil }
            sections.append(Section(isChoice: isChoice, alternatives: alternatives))
            rest = rest[end...]
        }
        self.sections = sections
        values = Set(sections.flatMap(\.names))
        required = Set(sections.filter { !$0.isChoice }.flatMap(\.names))
    }

    /// The words with these values.
    func text(_ values: [String: String]) -> String {
        sections.map { section in
            let shown = section.alternatives.first { pieces in
                !section.isChoice
                    || pieces.allSatisfy { piece in
                        if case .value(let name) = piece { values[name] != nil } else { true }
                    }
            }
            return (shown ?? []).map { piece in
                switch piece {
                case .text(let text): text
                case .value(let name): values[name] ?? ""
                }
            }.joined()
        }.joined()
    }

    private static func pieces(_ words: Substring) -> [Piece]? {
        guard !words.contains(where: { $0 == "[" || $0 == "]" }) else { return nil }
        var pieces: [Piece] = []
        var rest = words
        while !rest.isEmpty {
            let text = rest.prefix { $0 != "{" && $0 != "}" }
            if !text.isEmpty { pieces.append(.text(String(text))) }
            rest = rest[text.endIndex...]
            guard let open = rest.first else { break }
            guard open == "{", let close = rest.firstIndex(of: "}") else { return nil }
            let name = rest[rest.index(after: rest.startIndex)..<close]
            guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0 == "_" }) else { return nil }
            pieces.append(.value(String(name)))
            rest = rest[rest.index(after: close)...]
        }
        return pieces
    }
}
