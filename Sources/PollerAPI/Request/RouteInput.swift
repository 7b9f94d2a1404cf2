import HTTPTypes
import Hummingbird
import PollerOperations

/// The input of a route: the parameter descriptions, and how their text becomes the handler's value.
///
/// Both are one value, combined from smaller ones by ``all(_:as:)``. So a handler can only read described parameters,
/// and every described parameter is read.
///
/// Queries are parsed strictly: an unknown parameter, an empty one and a repeated one are rejected. Otherwise a
/// misspelt filter would list everything, and `?source=` from a script with an empty variable would mean every source.
struct RouteInput<Value: Sendable>: Sendable {
    let parameters: [RouteParameter]
    let read: @Sendable (RequestValues) throws(Problem) -> Value
    /// The undescribed parameters that a lenient input accepts, on a page that other sites link to.
    ///
    /// All others are ignored there. `nil` for a strict query.
    private(set) var others: [String]?

    init(
        _ parameters: [RouteParameter],
        read: @escaping @Sendable (RequestValues) throws(Problem) -> Value
    ) {
        self.parameters = parameters
        self.read = read
    }

    /// Returns several inputs, parsed in order, as one value.
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

    /// Returns the input without strict checking of undescribed parameters.
    func lenient(knowing others: [String] = []) -> RouteInput<Value> {
        var input = self
        input.others = others
        return input
    }
}

extension RouteInput {
    /// The problem statuses of the parameters in addition to 400.
    var problems: [Int] { parameters.contains { $0.name == "If-Match" } ? [412] : [] }
}

/// The description of a parameter.
struct RouteParameter: Sendable {
    /// The location of a parameter.
    enum Location: String, Sendable {
        case path
        case query
        case header
    }

    let name: String
    let location: Location
    let description: String
    let schema: SchemaNode
    var isRequired = false
    /// The prefix of further parameter names with the same meaning; `nil` for none.
    var prefix: String?
}

/// The parameter values of one request.
struct RequestValues {
    private let path: Parameters
    private let query: [String: String]
    private let headers: HTTPFields
    /// The caller, which limits access: objects of other accounts are treated as missing.
    let caller: Caller
    /// Decrypts the cursors that were encrypted for the caller.
    let cursors: SealedCursors

    /// Parses a request whose query may have the parameters that an input describes.
    init<Value>(
        _ request: Request,
        _ context: APIContext,
        of input: RouteInput<Value>
    ) throws(Problem) {
        path = context.parameters
        headers = request.headers
        caller = context.caller
        cursors = context.cursors
        let described = input.parameters.filter { $0.location == .query }
        let allowed = described.map(\.name)
        query =
            if let others = input.others {
                Self.known(request, allowed + others)
            } else {
                try Self.strict(request, allowed, described.compactMap(\.prefix))
            }
    }

    /// Returns a variable segment of the path.
    func path(_ name: String) -> String { path.get(name) ?? "" }

    /// Returns a parameter's value, which is never empty; `nil` if it is absent.
    func query(_ name: String) -> String? { query[name] }

    /// Returns the parameters with a name prefix, without the prefix, sorted by name.
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
                throw Problem.parameter(name, "is empty; give it a value, or leave it out.")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem.parameter(name, "was sent twice. Send it once.")
            }
        }
        return values
    }

    /// Returns the known parameters, using the first value of each name.
    private static func known(_ request: Request, _ allowed: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in pairs(request) where allowed.contains(name) {
            values[name] = values[name] ?? value
        }
        return values
    }

    /// Returns the names and values of a query in form encoding: `+` and `%20` are spaces.
    ///
    /// Nearly every library encodes a space as `+` (<https://url.spec.whatwg.org/#urlencoded-parsing>) and a plus as
    /// `%2B`. A person who types a plus into a URL means a space. No cursor, token or signature of this API contains a
    /// plus. An invalid escape is left as it is.
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
