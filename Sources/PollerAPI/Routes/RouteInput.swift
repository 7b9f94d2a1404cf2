import HTTPTypes
import Hummingbird
import Poller

/// What a route reads of path, query and headers: the descriptions of the parameters, and how their
/// text becomes the value that the handler gets.
///
/// Both in one value, put together from smaller ones by ``all(_:as:)``: a handler can read nothing
/// that is not described, and nothing is described that nobody reads.
///
/// A query is read strictly: a parameter nobody knows, one without a value and one given twice are
/// refused. A misspelt filter would otherwise list everything, and `?source=` of a script whose
/// variable is empty would mean every source.
struct RouteInput<Value: Sendable>: Sendable {
    let parameters: [RouteParameter]
    let read: @Sendable (RequestValues) throws(Problem) -> Value
    /// The undescribed parameters that mean something on a page that others link to.
    ///
    /// All others are passed over there. Nil where a query is read strictly.
    private(set) var others: [String]?

    init(
        _ parameters: [RouteParameter],
        read: @escaping @Sendable (RequestValues) throws(Problem) -> Value
    ) {
        self.parameters = parameters
        self.read = read
    }

    /// Several inputs, read in their order, as one value.
    static func all<each Part: Sendable>(
        _ parts: repeat RouteInput<each Part>,
        as make: @escaping @Sendable (repeat each Part) throws(Problem) -> Value
    ) -> RouteInput<Value> {
        var parameters: [RouteParameter] = []
        for part in repeat each parts { parameters += part.parameters }
        let kept = (repeat each parts)
        return RouteInput(parameters) { values throws(Problem) in
            try make(repeat try (each kept).read(values))
        }
    }

    /// The same without a word about parameters that are not described.
    func lenient(knowing others: [String] = []) -> RouteInput<Value> {
        var input = self
        input.others = others
        return input
    }
}

extension RouteInput {
    /// The statuses of the problems that its parameters may have beside 400.
    var problems: [Int] { parameters.contains { $0.name == "If-Match" } ? [412] : [] }
}

/// A parameter as it is described.
struct RouteParameter: Sendable {
    /// Where it stands.
    enum Place: String, Sendable {
        case path
        case query
        case header
    }

    let name: String
    let place: Place
    let description: String
    let schema: SchemaNode
    var isRequired = false
    /// With what further names begin that mean the same of something else; nil for none.
    var prefix: String?
}

/// The texts of one request's parameters.
struct RequestValues {
    private let path: Parameters
    private let query: [String: String]
    private let headers: HTTPFields
    /// Who asks: what is not theirs is read as what is not there.
    let caller: Caller
    /// Opens the cursors that were sealed for them.
    let cursors: SealedCursors

    /// Reads a request whose query may have the parameters that an input describes.
    init<Value>(
        _ request: Request,
        _ context: APIContext,
        of input: RouteInput<Value>
    ) throws(Problem) {
        path = context.parameters
        headers = request.headers
        caller = context.caller
        cursors = context.cursors
        let described = input.parameters.filter { $0.place == .query }
        let allowed = described.map(\.name)
        query =
            if let others = input.others {
                Self.known(request, allowed + others)
            } else {
                try Self.strict(request, allowed, described.compactMap(\.prefix))
            }
    }

    /// A segment of the path that varies.
    func path(_ name: String) -> String { path.get(name) ?? "" }

    /// A parameter's text, which is never empty; nil when it is absent.
    func query(_ name: String) -> String? { query[name] }

    /// The parameters whose names begin so, without that, in the order of their names.
    func queries(_ prefix: String) -> [(name: String, value: String)] {
        query.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }.map { name, value in
            (String(name.dropFirst(prefix.count)), value)
        }
    }

    func header(_ name: HTTPField.Name) -> String? { headers[name] }

    private static func strict(
        _ request: Request,
        _ allowed: [String],
        _ prefixes: [String]
    ) throws(Problem) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in Self.pairs(request) where !name.isEmpty || !value.isEmpty {
            let isAllowed =
                allowed.contains(name)
                || prefixes.contains { name.hasPrefix($0) && name.count > $0.count }
            guard isAllowed else {
                let known =
                    allowed.isEmpty ? "it has none" : "it has \(allowed.joined(separator: ", "))"
                throw Problem(
                    .unknownParameter,
                    "\(name.prefix(64)) is not a parameter of this route; \(known).",
                    field: String(name.prefix(64))
                )
            }
            guard !value.isEmpty else {
                throw Problem(
                    .invalidParameter,
                    "\(name) is empty; give it a value, or leave it out.",
                    field: name
                )
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem(.invalidParameter, "\(name) is given twice.", field: name)
            }
        }
        return values
    }

    /// The parameters that mean something, the first of each name.
    private static func known(_ request: Request, _ allowed: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in pairs(request) where allowed.contains(name) {
            values[name] = values[name] ?? value
        }
        return values
    }

    /// The names and values of a query, as forms write them: `+` is a space, and so is `%20`.
    ///
    /// Nearly every library writes a space as `+` (<https://url.spec.whatwg.org/#urlencoded-parsing>), and a
    /// plus as `%2B`; whoever types one into a URL means a space. No cursor, token or signature of
    /// ours has a plus. What is no escape stays as it is.
    private static func pairs(_ request: Request) -> [(name: String, value: String)] {
        (request.uri.query ?? "").split(separator: "&").map { pair in
            let parts = pair.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return (decoded(parts.first ?? ""), parts.dropFirst().first.map(decoded) ?? "")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let digits = String(digits),
                digits.allSatisfy(\.isHexDigit), let escaped = UInt8(digits, radix: 16)
            {
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
