import SafeNumbers

/// A query in Stripe's search language: `amount>1000 AND metadata['order']:'6735' -currency:"usd"`.
///
/// *Shape*: clauses of the form `[-]FIELD OPERATOR VALUE`, separated by spaces, `AND` or `OR`. A space means `AND`,
/// and a query can use only one of them. A string is quoted by `'` or `"`, with `\` as escape; quotes are optional
/// for a number. `metadata['k']:null` finds objects without the key, and `-` negates a clause.
///
/// | field | `:` `=` | `~` | `>` `<` `>=` `<=` |
/// |---|---|---|---|
/// | token | equal, without case | – | – |
/// | string | equal, without case | contains, from 3 characters | – |
/// | number | equal | – | yes |
///
/// *Source*: <https://docs.stripe.com/search#search-query-language>, including the error messages.
struct SearchQuery {
    /// The type of a field's values.
    enum Kind {
        case token, string, number
    }

    /// A value of a searched object.
    enum Value {
        case text(String)
        case number(Int)
    }

    /// One condition.
    struct Clause {
        /// The name in ``Fields``.
        let field: String
        /// The key in brackets, for metadata.
        let key: String?
        let comparison: String
        /// The value; `nil` for `null`.
        let value: String?
        let isNegated: Bool
    }

    /// The searchable fields of a resource; a name with `.*.` matches any one name in its place.
    struct Fields {
        /// The name of the resource in errors.
        let resource: String
        let kinds: [String: Kind]
    }

    /// The maximum number of clauses, as at Stripe.
    static let clausesMax = 10
    private static let substringMin = 3

    private(set) var clauses: [Clause] = []
    private var isAny: Bool?

    /// Parses a query.
    ///
    /// Errors: an ``APIError`` with 400 that names the field or shows the format of a clause.
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

    /// Returns whether an object matches; `value` returns the object's value for a clause.
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

    /// Reads `AND` or `OR` before the next clause; returns `true` for `OR`.
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

    /// Reads a quoted string and returns it without the quotes.
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

    /// Rejects an unknown field, and an operator that the field does not support.
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
                "Field `\(clause.field)` is a number, but `\(value)` is not.",
                param: "query"
            )
        }
    }
}

extension SearchQuery.Fields {
    /// Returns the type of a field's values; `nil` for an unknown field.
    func kind(of field: String) -> SearchQuery.Kind? {
        if let kind = kinds[field] { return kind }
        let parts = field.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        // In `payment_method_details.card.last4` the middle part is the type.
        return kinds["\(parts[0]).*.\(parts[2])"]
    }
}
