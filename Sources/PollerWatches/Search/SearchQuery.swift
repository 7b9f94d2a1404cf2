package import PollerIdentity

/// A search query for watches: conditions that must all hold.
///
/// *Language*: words separated by spaces, the same in the API, `pollerctl list` and the address of a page:
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
/// Case is ignored, and so are accents, punctuation around words, and a word's position: `customer=doe` finds Jane Doe,
/// and `obrien` finds O’Brien, Pat. A single word is a prefix: `müll` finds Müller. Words after `=` are whole, because
/// programs search that way.
package struct SearchQuery: Hashable, Sendable {
    /// The size limit of a query in bytes: a sentence, not a program.
    package static let bytesMax = 1000
    /// The maximum number of conditions, and of values of a condition.
    package static let conditionsMax = 20

    /// The query as typed.
    package let text: String
    package let conditions: [SearchCondition]
    /// The names of the searched metadata.
    package let keys: SearchKeys

    /// Parses a query.
    ///
    /// - Parameters:
    ///   - text: the query text.
    ///   - metadata: further conditions, by metadata name.
    ///   - keys: the names of the searched metadata.
    ///   - now: the time from which ages are counted.
    ///   - created: the start of the range of creation, and its exclusive end.
    /// - Throws: `InvalidInput` about `q` with a suggestion.
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
        // Searches are part of URLs, and the audit trail keeps the text of some.
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

    package func matches(_ snapshot: WatchSnapshot) -> Bool {
        conditions.allSatisfy { $0.matches(snapshot, keys) }
    }

    /// The index lookup that finds every match; `nil` when records must be read.
    ///
    /// Of several lookups it is the most selective one. A whole word is preferred to a prefix. A lookup without sources
    /// is preferred to one with sources, because an entry is found at once, and a source is tried in each lane. Of
    /// several words the longest is preferred.
    package var lookup: SearchLookup? {
        conditions.compactMap { $0.lookup(among: keys) }.max { $0.rank < $1.rank }
    }

    /// Whether only closed watches can match.
    package var isOfClosed: Bool { conditions.contains { $0.isOfClosed } }

    /// Whether only open watches can match.
    package var isOfOpen: Bool { conditions.contains { $0.isOfOpen } }

    /// The range of creation of all matches; `nil` without a bound.
    package var created: (from: Timestamp?, to: Timestamp?) {
        var (from, to): (Timestamp?, Timestamp?) = (nil, nil)
        for condition in conditions where condition.subject == .field(.created) {
            guard case .time(let time) = condition.operand else { continue }
            switch condition.comparison {
            case .more, .atLeast: from = max(from ?? time, time)
            case .less, .atMost: to = min(to ?? time, time)
            case .equal, .notEqual: continue
            }
        }
        return (from, to)
    }

    /// Parses a day, a time or an age; `nil` for another text.
    package static func instant(_ text: String, at now: Timestamp) -> Timestamp? {
        if let age = Duration(text: text) { return now + (.zero - age) }
        return Timestamp(rfc3339: text) ?? Timestamp(rfc3339: "\(text)T00:00:00.000Z")
            ?? Timestamp(rfc3339: "\(text.dropLast()).000Z")
    }

    static func mistake(_ message: String) -> InvalidInput {
        InvalidInput("q", message)
    }
}

/// The names of the searched metadata.
package struct SearchKeys: Hashable, Sendable {
    /// The maximum number of names; each costs about forty bytes of Redis per watch.
    package static let namesMax = 8
    /// The default: the usual names in shops for what customers ask about.
    package static let standard = SearchKeys(unchecked: ["order", "customer", "email"])

    package let names: [String]

    /// Checks configured names.
    package init(_ names: [String]) throws(InvalidInput) {
        guard names.count <= Self.namesMax else {
            throw InvalidInput(
                "search",
                "names \(names.count) metadata keys; at most \(Self.namesMax) are allowed"
            )
        }
        for name in names where !SearchWord.isName(name) {
            throw InvalidInput(
                "search",
                "\(name) is not a searchable key: use letters, digits, _, - and ."
            )
        }
        var seen: Set<String> = []
        self.names = names.filter { seen.insert($0).inserted }
    }

    private init(unchecked names: [String]) {
        self.names = names
    }
}

/// A word of a query: a name, a comparison and values; or a single value.
struct SearchWord: Hashable {
    /// The name; `nil` for a single value.
    let name: String?
    let comparison: SearchComparison
    /// The values, at least one and none of them empty.
    let values: [String]

    /// Splits a text into its words.
    static func split(_ text: String) throws(InvalidInput) -> [SearchWord] {
        var words: [SearchWord] = []
        var word = ""
        // The quoted characters, which are never a name, an operator or a comma.
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
            guard !word.isEmpty else { throw SearchQuery.mistake("has an empty word") }
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
                "has nothing behind \(name ?? "")\(found.rawValue); add a value"
            )
        }
        guard values.count <= SearchQuery.conditionsMax else {
            throw SearchQuery.mistake("has more than \(SearchQuery.conditionsMax) values")
        }
    }

    private init(alone value: String) {
        (name, comparison, values) = (nil, .equal, [value])
    }

    /// Joins `49,90 €` and `EUR 49.90` into one word each.
    static func joined(_ words: [SearchWord]) -> [SearchWord] {
        words.reduce(into: []) { joined, word in
            guard let before = joined.last, before.name == nil, word.name == nil,
                let one = before.values.first, let other = word.values.first,
                EnteredAmount.isCurrency(one) != EnteredAmount.isCurrency(other),
                EnteredAmount(one + other) != nil
            else {
                joined.append(word)
                return
            }
            joined[joined.count - 1] = SearchWord(alone: one + other)
        }
    }

    /// The values as amounts.
    ///
    /// Two values of which the second has two digits are one amount with a decimal comma, `49,90`.
    var amounts: [String] {
        guard values.count == 2, values[1].utf8.count == 2,
            values[1].utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            return values
        }
        return [values.joined(separator: ",")]
    }

    /// Returns the word as a person would type it with another name.
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

/// A comparison operator, longer ones first.
package enum SearchComparison: String, Hashable, Sendable, CaseIterable {
    case notEqual = "!="
    case atLeast = ">="
    case atMost = "<="
    case more = ">"
    case less = "<"
    case equal = "="

    /// Whether it compares the order of values.
    var isOrdered: Bool { self != .equal && self != .notEqual }

    /// Whether the comparison holds for two values.
    func holds<Value: Comparable>(_ value: Value, _ operand: Value) -> Bool {
        switch self {
        case .notEqual: value != operand
        case .atLeast: value >= operand
        case .atMost: value <= operand
        case .more: value > operand
        case .less: value < operand
        case .equal: value == operand
        }
    }

    /// The comparison for ages, which grow as times get smaller.
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
