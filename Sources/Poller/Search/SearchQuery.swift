package import PollerIdentity

/// What somebody looks for among watches: conditions, all of which must hold.
///
/// *Language*: words with blanks between them, the same in the API, `pollerctl list` and the address of
/// a page:
/// ```
/// A77                          a source, a charge, or a prefix of an order or of searched metadata
/// 49.90  €49.90  49,90 EUR     an amount, or a word that is written so
/// order=A77 status=pending     both; order is that of the watch or of its metadata
/// payment=failed,expired       one of them
/// customer="Jane Doe"          metadata that are searched; any others as metadata.colour=red
/// customer=Mül*                words with this prefix
/// kind!=charge                 none of them
/// amount>=1000 amount=€49.90   the smallest unit, or with decimals
/// created>2d                   longer ago than two days
/// closed>=2026-11-01           from that day on
/// ```
/// Case is ignored, and so are accents, punctuation around words, and a word's place: `customer=doe` finds
/// Jane Doe, and `obrien` finds O’Brien, Pat. A word alone is a prefix: `müll` finds Müller.
/// Words after `=` are whole, because programs search that way.
package struct SearchQuery: Hashable, Sendable {
    /// A sentence somebody types, not a program.
    package static let bytesMax = 1000
    /// Conditions of a query, and values of one of them.
    package static let conditionsMax = 20

    /// As it was typed.
    package let text: String
    package let conditions: [SearchCondition]
    /// The names of the metadata that are searched.
    package let keys: SearchKeys

    /// Reads what somebody typed.
    ///
    /// - Parameters:
    ///   - text: the words.
    ///   - metadata: further conditions, by the name of metadata.
    ///   - keys: the names of the metadata that are searched here.
    ///   - now: what ages are counted from.
    ///   - created: the first instant of the range of creation, and the first instant after it.
    /// - Throws: `InvalidInput` about `q` that says what to write instead.
    package init(
        _ text: String,
        metadata: [(name: String, value: String)] = [],
        keys: SearchKeys,
        now: Timestamp,
        created: (from: Timestamp?, before: Timestamp?) = (nil, nil)
    ) throws(InvalidInput) {
        guard text.utf8.count <= Self.bytesMax else {
            throw Self.mistake("is longer than \(Self.bytesMax) bytes")
        }
        // Searches travel in URLs, and the audit trail keeps the words of some.
        try IdentifierSyntax.refuseSecret(text, field: "q", as: .name)
        var conditions: [SearchCondition] = []
        for word in SearchWord.joined(try SearchWord.split(text)) {
            conditions.append(try SearchCondition(word, keys: keys, now: now))
        }
        for (name, value) in metadata {
            conditions.append(SearchCondition(metadata: name, value))
        }
        if let from = created.from {
            conditions.append(SearchCondition(created: .atLeast, from))
        }
        if let before = created.before {
            conditions.append(SearchCondition(created: .less, before))
        }
        guard conditions.count <= Self.conditionsMax else {
            throw Self.mistake("has more than \(Self.conditionsMax) conditions")
        }
        self.text = text
        self.conditions = conditions
        self.keys = keys
    }

    /// Whether a watch is what is looked for.
    package func matches(_ snapshot: WatchSnapshot) -> Bool {
        conditions.allSatisfy { $0.matches(snapshot, keys) }
    }

    /// How every watch that is looked for is found; nil when only looking at records tells.
    ///
    /// Of several ways it is the one that finds least. A whole word comes before a prefix. A way without names comes
    /// before one with names, because an entry is found at once, and a name is tried in each lane. Of several words the
    /// longest comes first.
    package var lookup: SearchLookup? {
        conditions.compactMap { $0.lookup(among: keys) }.max { $0.rank < $1.rank }
    }

    /// Whether only closed watches can be what is looked for.
    package var isOfClosed: Bool { conditions.contains { $0.isOfClosed } }

    /// Whether only open watches can be what is looked for.
    package var isOfOpen: Bool { conditions.contains { $0.isOfOpen } }

    /// The range of creation of all matches; `nil` without a bound.
    package var created: (from: Timestamp?, to: Timestamp?) {
        var (from, to): (Timestamp?, Timestamp?) = (nil, nil)
        for condition in conditions where condition.subject == .field(.created) {
            guard case .time(let time) = condition.wanted else { continue }
            switch condition.comparison {
            case .more, .atLeast: from = max(from ?? time, time)
            case .less, .atMost: to = min(to ?? time, time)
            case .equal, .notEqual: continue
            }
        }
        return (from, to)
    }

    /// The instant of a day, a time or an age; `nil` for another text.
    package static func instant(_ text: String, at now: Timestamp) -> Timestamp? {
        if let age = Duration(text: text) { return now + (.zero - age) }
        return Timestamp(rfc3339: text) ?? Timestamp(rfc3339: "\(text)T00:00:00.000Z")
            ?? Timestamp(rfc3339: "\(text.dropLast()).000Z")
    }

    static func mistake(_ message: String) -> InvalidInput {
        InvalidInput(field: "q", message: message)
    }
}

/// The names of the metadata by which watches are found.
package struct SearchKeys: Hashable, Sendable {
    /// Each costs a watch some forty bytes of Redis.
    package static let namesMax = 8
    /// What shops call what their customers ask about.
    package static let standard = SearchKeys(unchecked: ["order", "customer", "email"])

    package let names: [String]

    /// Checks names that somebody configured.
    package init(_ names: [String]) throws(InvalidInput) {
        guard names.count <= Self.namesMax else {
            throw InvalidInput(
                field: "search",
                message: "names \(names.count) keys of metadata; at most \(Self.namesMax) are taken"
            )
        }
        for name in names where !SearchWord.isName(name) {
            throw InvalidInput(
                field: "search",
                message: "\(name) is no key that can be searched: letters, digits, _, - and ."
            )
        }
        var seen: Set<String> = []
        self.names = names.filter { seen.insert($0).inserted }
    }

    private init(unchecked names: [String]) {
        self.names = names
    }
}

/// One word of a query: a name, how it is compared, and with what; or a value alone.
struct SearchWord: Hashable {
    /// Nil for a value that stands alone.
    let name: String?
    let comparison: SearchComparison
    /// At least one, none of them empty.
    let values: [String]

    /// Splits a text into its words.
    static func split(_ text: String) throws(InvalidInput) -> [SearchWord] {
        var words: [SearchWord] = []
        var word = ""
        // Where quotes stood: what they enclose is never a name, an operator or a comma.
        var quoted: [Bool] = []
        var isQuoted = false
        var hasQuotes = false
        for character in text + " " {
            switch character {
            case "\"":
                isQuoted.toggle()
                hasQuotes = true
            case _ where character.isWhitespace && !isQuoted:
                if !word.isEmpty || hasQuotes { words.append(try Self(word, quoted)) }
                (word, quoted, hasQuotes) = ("", [], false)
            default:
                word.append(character)
                quoted.append(isQuoted)
            }
        }
        guard !isQuoted else {
            throw SearchQuery.mistake("has a quotation mark that is not closed")
        }
        return words
    }

    private init(_ word: String, _ quoted: [Bool]) throws(InvalidInput) {
        let characters = Array(word)
        let at = characters.indices.first { !quoted[$0] && "=!<>".contains(characters[$0]) }
        guard let at, Self.isName(String(characters[..<at])),
            let found = SearchComparison.allCases.first(where: { comparison in
                characters[at...].starts(with: comparison.rawValue)
            })
        else {
            name = nil
            comparison = .equal
            values = [word]
            guard !word.isEmpty else { throw SearchQuery.mistake("looks for an empty word") }
            return
        }
        name = String(characters[..<at])
        comparison = found
        let start = at + found.rawValue.count
        let commas = (start..<characters.count).filter { !quoted[$0] && characters[$0] == "," }
        var values: [String] = []
        var from = start
        for comma in commas + [characters.count] {
            values.append(String(characters[from..<comma]))
            from = comma + 1
        }
        self.values = values
        guard !values.contains("") else {
            throw SearchQuery.mistake(
                "has nothing behind \(name ?? "")\(found.rawValue); write what it is to be"
            )
        }
        guard values.count <= SearchQuery.conditionsMax else {
            throw SearchQuery.mistake("has more than \(SearchQuery.conditionsMax) values")
        }
    }

    private init(alone value: String) {
        (name, comparison, values) = (nil, .equal, [value])
    }

    /// Joins `49,90 €` and `EUR 49.90` to one word each.
    static func joined(_ words: [SearchWord]) -> [SearchWord] {
        words.reduce(into: []) { joined, word in
            guard let before = joined.last, before.name == nil, word.name == nil,
                let one = before.values.first, let other = word.values.first,
                TypedMoney.isCurrency(one) != TypedMoney.isCurrency(other),
                TypedMoney(one + other) != nil
            else {
                joined.append(word)
                return
            }
            joined[joined.count - 1] = SearchWord(alone: one + other)
        }
    }

    /// The values as amounts; two values of which the second has two digits are one with a decimal comma, `49,90`.
    var amounts: [String] {
        guard values.count == 2, values[1].utf8.count == 2,
            values[1].utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            return values
        }
        return [values.joined(separator: ",")]
    }

    /// The word as a person would type it with another name.
    func text(named name: String) -> String {
        let typed = values.map { $0.contains(where: \.isWhitespace) ? "\"\($0)\"" : $0 }
        return "\(name)\(comparison.rawValue)\(typed.joined(separator: ","))"
    }

    /// Whether a text may be the name of a field or of metadata.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            }
    }
}

/// How a condition compares, longer ones first.
package enum SearchComparison: String, Hashable, Sendable, CaseIterable {
    case notEqual = "!="
    case atLeast = ">="
    case atMost = "<="
    case more = ">"
    case less = "<"
    case equal = "="

    /// Whether it asks for more than whether two are the same.
    var isOrdered: Bool { self != .equal && self != .notEqual }

    /// Whether it holds of two that are compared so.
    func holds<Value: Comparable>(_ value: Value, _ wanted: Value) -> Bool {
        switch self {
        case .notEqual: value != wanted
        case .atLeast: value >= wanted
        case .atMost: value <= wanted
        case .more: value > wanted
        case .less: value < wanted
        case .equal: value == wanted
        }
    }

    /// The same of ages, which grow as times get smaller.
    var reversed: SearchComparison {
        switch self {
        case .atLeast: .atMost
        case .atMost: .atLeast
        case .more: .less
        case .less: .more
        case .equal, .notEqual: self
        }
    }
}
