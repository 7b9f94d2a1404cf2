import SafeNumbers

/// A query in Stripe's search language: `amount>1000 AND metadata['order']:'6735' -currency:"usd"`.
///
/// *Shape*: clauses, `[-]FIELD OPERATOR VALUE`, separated by spaces, `AND` or `OR`; `AND` is what a space
/// means, and a query has only one of them. A text is quoted by `'` or `"`, in which `\` escapes; a number
/// may be. `metadata['k']:null` finds what has no such key, and `-` negates a clause.
///
/// | field | `:` `=` | `~` | `>` `<` `>=` `<=` |
/// |---|---|---|---|
/// | token | equal, without case | – | – |
/// | string | equal, without case | contains, from 3 characters | – |
/// | number | equal | – | yes |
///
/// *Source*: <https://docs.stripe.com/search#search-query-language>; errors as Stripe words them.
struct SearchQuery {
    /// What the values of a field are.
    enum Kind {
        case token, string, number
    }

    /// A value of an object that is searched.
    enum Value {
        case text(String)
        case number(Int)
    }

    /// One condition.
    struct Clause {
        /// As it is named in ``Fields``.
        let field: String
        /// What stands in brackets, of metadata.
        let key: String?
        let comparison: String
        /// Nil for `null`.
        let value: String?
        let isNegated: Bool
    }

    /// The fields of a resource: those whose name ends in `.*` stand for one name each in its place.
    struct Fields {
        /// What errors call the resource.
        let resource: String
        let kinds: [String: Kind]
    }

    /// Stripe's limit.
    static let clausesMax = 10
    private static let substringMin = 3

    private(set) var clauses: [Clause] = []
    private var isAny: Bool?

    /// Reads a query.
    ///
    /// Errors: an ``APIError`` with 400 that names the field or shows the form of a clause.
    init(_ text: String, _ fields: Fields) throws(APIError) {
        var rest = Substring(text)
        while true {
            rest = rest.drop { $0.isWhitespace }
            guard !rest.isEmpty else { break }
            if !clauses.isEmpty, let conjunction = Self.conjunction(&rest) {
                guard isAny == nil || isAny == conjunction else { throw Self.unreadable }
                isAny = conjunction
            }
            let clause = try Self.clause(&rest)
            try Self.check(clause, fields)
            clauses.append(clause)
            guard clauses.count <= Self.clausesMax else {
                throw APIError.invalid(
                    "A search query has at most \(Self.clausesMax) clauses.",
                    param: "query"
                )
            }
        }
        guard !clauses.isEmpty else { throw Self.unreadable }
    }

    /// Whether an object is found, of which `value` tells the value of a field.
    func matches(_ value: (Clause) -> Value?) -> Bool {
        isAny == true
            ? clauses.contains { satisfies($0, value($0)) }
            : clauses.allSatisfy { satisfies($0, value($0)) }
    }

    private func satisfies(_ clause: Clause, _ value: Value?) -> Bool {
        Self.compare(clause, value) != clause.isNegated
    }

    private static func compare(_ clause: Clause, _ value: Value?) -> Bool {
        guard let expected = clause.value else { return value == nil }
        switch value {
        case nil: return false
        case .text(let text):
            let (text, expected) = (text.lowercased(), expected.lowercased())
            return clause.comparison == "~" ? text.contains(expected) : text == expected
        case .number(let number):
            guard let expected = Int(decimal: expected) else { return false }
            switch clause.comparison {
            case ">": return number > expected
            case "<": return number < expected
            case ">=": return number >= expected
            case "<=": return number <= expected
            default: return number == expected
            }
        }
    }
}

extension SearchQuery {
    private static let unreadable = APIError.invalid(
        "We were unable to parse your search query. Try using the format `metadata[\"key\"]:\"value\"` "
            + "to query for metadata or key:\"value\" to query for other fields.",
        param: "query"
    )

    /// `AND` or `OR` before the next clause; true for `OR`.
    private static func conjunction(_ rest: inout Substring) -> Bool? {
        let word = rest.prefix { $0.isLetter }
        guard ["and", "or"].contains(word.lowercased()),
            rest.dropFirst(word.count).first?.isWhitespace == true
        else { return nil }
        rest = rest.dropFirst(word.count).drop { $0.isWhitespace }
        return word.lowercased() == "or"
    }

    private static func clause(_ rest: inout Substring) throws(APIError) -> Clause {
        let isNegated = rest.first == "-"
        if isNegated { rest = rest.dropFirst() }
        let field = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        rest = rest.dropFirst(field.count)
        var key: String?
        if rest.first == "[" {
            rest = rest.dropFirst()
            key = try quoted(&rest)
            guard rest.first == "]" else { throw unreadable }
            rest = rest.dropFirst()
        }
        let comparison = [">=", "<=", ">", "<", ":", "=", "~"].first { rest.hasPrefix($0) }
        guard !field.isEmpty, let comparison else { throw unreadable }
        rest = rest.dropFirst(comparison.count).drop { $0.isWhitespace }
        var value: String?
        if rest.first == "\"" || rest.first == "'" {
            value = try quoted(&rest)
        } else {
            let word = rest.prefix { !$0.isWhitespace }
            rest = rest.dropFirst(word.count)
            guard word == "null" || Int(decimal: word) != nil else { throw unreadable }
            value = word == "null" ? nil : String(word)
        }
        guard rest.first?.isWhitespace ?? true else { throw unreadable }
        return Clause(
            field: String(field),
            key: key,
            comparison: comparison,
            value: value,
            isNegated: isNegated
        )
    }

    /// A text between quotes, without them.
    private static func quoted(_ rest: inout Substring) throws(APIError) -> String {
        guard let quote = rest.popFirst(), quote == "\"" || quote == "'" else { throw unreadable }
        var text = ""
        while let character = rest.popFirst() {
            if character == quote { return text }
            if character == "\\", let escaped = rest.popFirst() {
                text.append(escaped)
            } else {
                text.append(character)
            }
        }
        throw unreadable
    }

    /// Refuses a field that the resource does not have, and an operator that the field does not take.
    private static func check(_ clause: Clause, _ fields: Fields) throws(APIError) {
        guard let kind = fields.kind(of: clause.field),
            (clause.field == "metadata") == (clause.key != nil)
        else {
            throw APIError.invalid(
                "Field `\(clause.field)` is an unsupported search field for resource "
                    + "`\(fields.resource)`.",
                param: "query"
            )
        }
        let isEqual = [":", "="].contains(clause.comparison)
        let isSupported =
            switch kind {
            case .token: isEqual
            case .string: isEqual || clause.comparison == "~" && clause.value != nil
            case .number: clause.comparison != "~" && (clause.value != nil || isEqual)
            }
        guard isSupported else {
            throw APIError.invalid(
                "Field `\(clause.field)` does not support the operator `\(clause.comparison)`.",
                param: "query"
            )
        }
        if clause.comparison == "~", clause.value?.count ?? 0 < substringMin {
            throw APIError.invalid(
                "A substring match needs at least \(substringMin) characters.",
                param: "query"
            )
        }
        if kind == .number, let value = clause.value, Int(decimal: value) == nil {
            throw APIError.invalid(
                "Field `\(clause.field)` is a number, and `\(value)` is none.",
                param: "query"
            )
        }
    }
}

extension SearchQuery.Fields {
    /// What a field's values are; nil for one that the resource does not have.
    func kind(of field: String) -> SearchQuery.Kind? {
        if let kind = kinds[field] { return kind }
        let parts = field.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        // `payment_method_details.card.last4`: the middle is the type.
        return kinds["\(parts[0]).*.\(parts[2])"]
    }
}
