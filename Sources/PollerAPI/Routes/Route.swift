import HTTPTypes
import Hummingbird
import Poller

/// A route as a value: everything a client may know of it, and how its handler gets what it reads.
///
/// *Problem.* The router, the access check, the strict reading of queries, the `Allow` of a 405 and
/// `/openapi.json` all speak of the same routes. Kept apart, they drift: a description kept by hand
/// lacked a state of the return page, and no test could tell.
///
/// *Approach.* A resource's file holds its routes as values, and beside them the handlers. A handler
/// is only reachable through ``answered(by:)``, which reads the request with the route's own
/// ``RouteInput``: what a handler gets is what the route describes, because it is the same value. The
/// ``RouteTable`` is made of the routes that have a handler, and everything else is asked of it.
///
/// *Rejected*: a generator that makes Swift from a document kept by hand (the reasons a value is
/// refused live in the types of `Poller`, not in a schema), and macros (a build for every reader).
struct Route<Input: Sendable>: Sendable {
    let description: RouteDescription
    private let input: RouteInput<Input>

    /// Describes a route.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: with `{name}` for a segment that varies.
    ///   - operation: what clients made from the description call it; never changes.
    ///   - summary: one sentence without its full stop.
    ///   - details: what a client must know beyond that.
    ///   - access: whom it is for.
    ///   - input: what is read of path, query and headers.
    ///   - repeats: what an `Idempotency-Key` does here, and why.
    ///   - body: what it takes; nil when it reads none.
    ///   - answers: how it succeeds, and pages that say something else.
    ///   - problems: statuses of problems that follow neither from `access` nor from `body`.
    ///   - audit: what it leaves in the audit trail; nil for what its method says.
    ///   - usesStore: whether a store that cannot be reached is a 503 here.
    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: String,
        _ summary: String,
        _ details: String? = nil,
        access: RouteAccess,
        input: RouteInput<Input>,
        repeats: RouteRepeats = .unknown,
        body: RouteBody? = nil,
        answers: [RouteAnswer],
        problems: [Int] = [],
        audit: RouteAudit? = nil,
        usesStore: Bool = true
    ) {
        self.input = input
        let ofStore = usesStore && access.scope != nil ? [503] : []
        var description = RouteDescription(
            method: method,
            path: path,
            operation: operation,
            summary: summary,
            details: details,
            access: access,
            parameters: input.parameters + repeats.parameters,
            body: body,
            answers: answers.map { $0.with(repeats.headers) },
            problems: Set(
                access.problems + (body?.problems ?? []) + problems + ofStore + repeats.problems
                    + input.problems
            )
            .subtracting(answers.map(\.status)).sorted(),
            repeats: repeats,
            audit: audit ?? (method == .get ? .look : .change)
        )
        description.tellTags()
        self.description = description
    }

    /// The route with what answers it.
    ///
    /// Checked before the handler runs, in this order: the query's names, each value as the input
    /// reads it, the `Idempotency-Key`, the type of a body that must be there. What it has changed is
    /// noted behind it (``RequestAudit``).
    func answered(
        by handler: @escaping @Sendable (Input, Request, APIContext) async throws -> Response
    ) -> AnsweredRoute {
        AnsweredRoute(description: description) { [description, input] request, context in
            do {
                let values = try input.read(RequestValues(request, context, of: input))
                if description.repeats != .unknown { try BodyReader.checkIdempotencyKey(request) }
                if let body = description.body, body.isRequired, body.isJSON {
                    try BodyReader.checkType(request, allowed: body.types)
                }
                let response = try await handler(values, request, context)
                await context.audit?.record(description, context)
                return try await description.tagged(response, for: request)
            } catch {
                await context.audit?.record(failed: error, description, context)
                throw error
            }
        }
    }
}

extension Route where Input == Void {
    /// Describes a route that reads neither path nor query: any parameter is refused.
    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: String,
        _ summary: String,
        _ details: String? = nil,
        access: RouteAccess,
        repeats: RouteRepeats = .unknown,
        body: RouteBody? = nil,
        answers: [RouteAnswer],
        problems: [Int] = [],
        audit: RouteAudit? = nil,
        usesStore: Bool = true
    ) {
        self.init(
            method,
            path,
            operation,
            summary,
            details,
            access: access,
            input: .nothing,
            repeats: repeats,
            body: body,
            answers: answers,
            problems: problems,
            audit: audit,
            usesStore: usesStore
        )
    }
}

/// A route with its handler, whatever that reads.
struct AnsweredRoute: Sendable {
    let description: RouteDescription
    let answer: @Sendable (Request, APIContext) async throws -> Response
}

/// What is told of a route.
struct RouteDescription: Sendable {
    let method: HTTPRequest.Method
    /// The path with `{source}` for a segment that varies.
    let path: String
    let operation: String
    let summary: String
    let details: String?
    let access: RouteAccess
    private(set) var parameters: [RouteParameter]
    let body: RouteBody?
    private(set) var answers: [RouteAnswer]
    /// Statuses of RFC 9457 problems, in their order.
    let problems: [Int]
    let repeats: RouteRepeats
    let audit: RouteAudit

    /// The method and the path, as people write a route.
    var line: String { "\(methodName) \(path)" }

    var methodName: String { method.rawValue }

    /// Describes the `ETag` of its answers and what a client does with it (EntityTag.swift).
    fileprivate mutating func tellTags() {
        guard hasTags else { return }
        parameters.append(Self.ifNoneMatch)
        answers = answers.map { $0.status == 200 ? $0.with(Self.tagHeader) : $0 }
        if !answers.contains(where: { $0.status == 304 }) { answers.append(Self.unchanged) }
    }

    /// All paths it answers at: a lane's slash may stand as it is or as `%2F`.
    var paths: [String] {
        let twoSegments = path.replacing("{lane}", with: "{lane}/{endpoint}")
        return twoSegments == path ? [path] : [path, twoSegments]
    }
}

/// Who may use a route.
///
/// There is no route of which nobody has said it.
enum RouteAccess: Hashable, Sendable {
    /// Holders of an API key that may do this; where there are no keys, whoever is on this machine.
    case key(Scope)
    /// Everybody who reaches the server; where there are no keys, that is this machine, too. What
    /// such a route shows is no secret, or is behind a secret of the customer's own in the
    /// request.
    case anybody
    /// Requests with a valid signature, with or without keys: Stripe has no key of ours and calls
    /// us by a public name.
    case signed

    /// What a key must be allowed; nil where none is wanted.
    var scope: Scope? {
        guard case .key(let scope) = self else { return nil }
        return scope
    }

    /// The problems of every route with this access.
    fileprivate var problems: [Int] {
        switch self {
        case .key: [400, 401, 403, 429, 500]
        case .anybody: [403, 429]
        case .signed: []
        }
    }
}

/// What a route reads as its body.
struct RouteBody: Sendable {
    /// Media types with what each holds, in the order a refusal names them.
    let content: [(type: String, schema: SchemaNode)]
    var isRequired = true
    var description: String?
    /// Types that are read as one of `content` and told nobody: other names of the same.
    var aliases: [String] = []
    /// Whether it is read as JSON of this API, and refused when it is announced as anything else.
    var isJSON = true
    /// How long it may be.
    var bytesMax = BodyReader.singleBytesMax

    /// One JSON value; `optional` when an empty body is as good.
    static func json(_ schema: SchemaNode, optional: Bool = false) -> Self {
        Self(content: [("application/json", schema)], isRequired: !optional)
    }

    /// A body that its handler checks by itself, whatever its type says.
    static func raw(_ type: String, _ schema: SchemaNode) -> Self {
        Self(content: [(type, schema)], isJSON: false)
    }

    fileprivate var types: [String] { content.map(\.type) + aliases }

    /// The problems of every route with such a body.
    fileprivate var problems: [Int] { isJSON ? [408, 413, 415, 422] : [408, 413] }
}

/// One way a route answers when nothing is wrong.
struct RouteAnswer: Sendable {
    let status: Int
    let description: String
    /// The media type with what it holds; nil for an answer without a body.
    var content: (type: String, schema: SchemaNode)?
    /// Further media types, for clients that accept them.
    var others: [(type: String, schema: SchemaNode)] = []
    /// Headers worth a client's attention.
    var headers: [String: SchemaNode] = [:]

    private static let requestID = ["X-Request-Id": SchemaNode.reference("headers/RequestID")]

    /// JSON of a shape, by its name among the components.
    static func json(_ status: Int, _ description: String, _ shape: String) -> Self {
        Self(
            status: status,
            description: description,
            content: ("application/json", .shape(shape)),
            headers: requestID
        )
    }

    /// 200 with JSON of a shape.
    static func ok(_ description: String, _ shape: String) -> Self {
        json(200, description, shape)
    }

    /// The same, or a CSV file for clients that accept it.
    var alsoCSV: Self {
        var answer = self
        answer.others.append(("text/csv", ["type": "string"]))
        return answer
    }

    /// A page for people.
    static func page(_ status: Int, _ description: String) -> Self {
        Self(
            status: status,
            description: description,
            content: ("text/html", ["type": "string"])
        )
    }

    /// The same with further headers, where it has a body.
    fileprivate func with(_ more: [String: SchemaNode]) -> Self {
        guard content != nil else { return self }
        var answer = self
        answer.headers.merge(more) { own, _ in own }
        return answer
    }

    /// 304.
    static func notModified(_ description: String) -> Self {
        Self(status: 304, description: description)
    }
}

/// The routes that have a handler, found by what the router or a client says.
struct RouteTable: Sendable {
    let routes: [RouteDescription]
    private let byPattern: [String: RouteDescription]

    /// The table of these routes, of which no two have a method and a path in common.
    init(_ routes: [RouteDescription]) {
        self.routes = routes
        byPattern = Dictionary(
            uniqueKeysWithValues: routes.flatMap { route in
                route.paths.map { ("\(route.methodName) \($0)", route) }
            }
        )
    }

    /// The route that the router has found, by its pattern and the method; nil for none of ours.
    func matched(_ pattern: String?, _ method: HTTPRequest.Method) -> RouteDescription? {
        pattern.flatMap { byPattern["\(method.rawValue) \($0)"] }
    }

    /// The methods of the routes at this path, for 405.
    ///
    /// As in the router, a segment of a pattern that is written out goes before one that varies:
    /// `/v1/watches/batch` is no source.
    func methods(at path: String) -> [String] {
        let segments = path.split(separator: "/")
        let fitting = Set(routes.flatMap(\.paths)).filter { path in
            let pattern = path.split(separator: "/")
            return pattern.count == segments.count
                && zip(pattern, segments).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        // `{` is behind every letter.
        guard let nearest = fitting.min() else { return [] }
        let methods = routes.filter { $0.paths.contains(nearest) }.map(\.methodName)
        // What has a GET answers HEAD (``ClientExpectations``).
        return methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
    }
}
