/// A text template whose values may be unknown.
///
/// *Shape*: `{name}` is a value. `[a|b|c]` is the first alternative whose values are all known, and empty when there
/// is none, as in `Thank you. [We received {amount}.|We received your payment.]`. Every sentence is therefore complete
/// in every language. Inserted values are not parsed again.
struct WordPattern: Hashable, Sendable {
    /// A piece of an alternative.
    private enum Piece: Hashable, Sendable {
        case text(String)
        case value(String)
    }

    /// The text between two brackets, or between a closing and an opening bracket.
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
    /// The names of all values.
    let values: Set<String>
    /// The names outside brackets.
    ///
    /// These values must always be known.
    let required: Set<String>

    /// Parses a template; `nil` when a bracket or a brace is unbalanced or nested.
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

    /// Returns the text with these values inserted.
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
