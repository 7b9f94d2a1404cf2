import HTTPTypes
import Hummingbird

/// A route as a value: its public description, and how its handler gets its input.
///
/// *Problem.* The router, the access check, the strict query parser, the `Allow` header of a 405 and `/openapi.json`
/// all describe the same routes. Separate definitions diverge: a manual description lacked a state of the return page,
/// and no test could detect that.
///
/// *Approach.* The file of a resource defines its routes as values, next to their handlers. A handler is only reachable
/// through ``answered(by:)``, which parses the request with the route's ``RouteInput``. So a handler gets exactly the
/// described input, because both are the same value. The ``RouteTable`` consists of the routes that have a handler, and
/// all other components query it.
///
/// *Rejected*: a generator of Swift code from a manual document, because the validation rules are in the types of
/// `Poller`, not in a schema. Also rejected: macros, which every reader would have to build.
struct Route<Input: Sendable>: Sendable {
    private(set) var description: RouteDescription
    private let input: RouteInput<Input>

    /// Creates the description of a route.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: the path, with `{name}` for a variable segment.
    ///   - operation: the name in generated clients, which never changes.
    ///   - summary: one sentence without its full stop.
    ///   - details: what else a client must know.
    ///   - access: the required access.
    ///   - input: the path, query and header parameters.
    ///   - idempotency: the effect of an `Idempotency-Key`.
    ///   - body: the body; `nil` for a route without one.
    ///   - answers: the successful responses, and pages with another status.
    ///   - problems: the problem statuses that do not follow from `access` or `body`.
    ///   - audit: the audit behaviour; `nil` for the default of the method.
    ///   - usesStore: whether an unavailable store causes a 503.
    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: String,
        _ summary: String,
        _ details: String? = nil,
        access: RouteAccess,
        input: RouteInput<Input>,
        idempotency: RouteIdempotency = .unknown,
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
            parameters: input.parameters + idempotency.parameters,
            body: body,
            answers: answers.map { $0.with(idempotency.headers) },
            problems: Set(
                access.problems + (body?.problems ?? []) + problems + ofStore + idempotency.problems
                    + input.problems
            )
            .subtracting(answers.map(\.status)).sorted(),
            idempotency: idempotency,
            audit: audit ?? (method == .get ? .read : .change)
        )
        description.addEntityTags()
        self.description = description
    }

    /// The route, handled on the event loop of its connection (``LoopMiddleware``).
    ///
    /// Only for a route that computes little for one request, and does not block.
    var brief: Self {
        var route = self
        route.description.isBrief = true
        return route
    }

    /// Returns the route with its handler.
    ///
    /// Before the handler runs, the request is checked. The order is: query names, each value, the `Idempotency-Key`,
    /// the type of a required body. After the handler, its changes are recorded (``RequestAudit``).
    func answered(
        by handler: @escaping @Sendable (Input, Request, APIContext) async throws -> Response
    ) -> AnsweredRoute {
        AnsweredRoute(description: description) { [description, input] request, context in
            do {
                let values = try input.read(RequestValues(request, context, of: input))
                if description.idempotency != .unknown {
                    try BodyReader.checkIdempotencyKey(request)
                }
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

    /// Returns the route with a handler that needs only the input and the context.
    func answered(
        by handler: @escaping @Sendable (Input, APIContext) async throws -> Response
    ) -> AnsweredRoute {
        answered { input, _, context in try await handler(input, context) }
    }
}

extension Route where Input == Void {
    /// Creates the description of a route without path and query parameters.
    ///
    /// Any parameter is rejected.
    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: String,
        _ summary: String,
        _ details: String? = nil,
        access: RouteAccess,
        idempotency: RouteIdempotency = .unknown,
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
            idempotency: idempotency,
            body: body,
            answers: answers,
            problems: problems,
            audit: audit,
            usesStore: usesStore
        )
    }
}

/// A route with its handler, independent of the input type.
struct AnsweredRoute: Sendable {
    let description: RouteDescription
    let answer: @Sendable (Request, APIContext) async throws -> Response
}

/// The public description of a route, for the router, the access check and `/openapi.json`.
struct RouteDescription: Sendable {
    let method: HTTPRequest.Method
    /// The path with `{source}` for a variable segment.
    let path: String
    let operation: String
    let summary: String
    let details: String?
    let access: RouteAccess
    private(set) var parameters: [RouteParameter]
    let body: RouteBody?
    private(set) var answers: [RouteAnswer]
    /// The statuses of RFC 9457 problems, in order.
    let problems: [Int]
    let idempotency: RouteIdempotency
    let audit: RouteAudit
    /// Whether requests are handled on the event loop of their connection.
    fileprivate(set) var isBrief = false

    /// The method and the path, as in documentation.
    var line: String { "\(methodName) \(path)" }

    var methodName: String { method.rawValue }

    /// Adds the `ETag` of responses and its request headers (EntityTag.swift).
    fileprivate mutating func addEntityTags() {
        guard hasTags else { return }
        parameters.append(Self.ifNoneMatch)
        answers = answers.map { $0.status == 200 ? $0.with(Self.tagHeader) : $0 }
        if !answers.contains(where: { $0.status == 304 }) { answers.append(Self.unchanged) }
    }

    /// All paths of the route: the slash of a lane may be literal or `%2F`.
    var paths: [String] {
        let twoSegments = path.replacing("{lane}", with: "{lane}/{endpoint}")
        return twoSegments == path ? [path] : [path, twoSegments]
    }
}

/// The request body of a route.
struct RouteBody: Sendable {
    /// The media types with their schemas, in the order in which an error lists them.
    let content: [(type: String, schema: SchemaNode)]
    var isRequired = true
    var description: String?
    /// Undocumented types that are accepted as synonyms of those in `content`.
    var aliases: [String] = []
    /// Whether the body is JSON of this API, and any other declared type is rejected.
    var isJSON = true
    /// The maximum length in bytes.
    var bytesMax = BodyReader.singleBytesMax

    /// Returns a body of one JSON value.
    ///
    /// If `optional`, it may be empty.
    static func json(_ schema: SchemaNode, optional: Bool = false) -> Self {
        Self(content: [("application/json", schema)], isRequired: !optional)
    }

    /// Returns a body that its handler checks, regardless of the declared type.
    static func raw(_ type: String, _ schema: SchemaNode) -> Self {
        Self(content: [(type, schema)], isJSON: false)
    }

    fileprivate var types: [String] { content.map(\.type) + aliases }

    /// The problems of every route with such a body.
    fileprivate var problems: [Int] { isJSON ? [408, 413, 415, 422] : [408, 413] }
}

/// A successful response of a route.
struct RouteAnswer: Sendable {
    let status: Int
    let description: String
    /// The media type and the schema; `nil` for a response without a body.
    var content: (type: String, schema: SchemaNode)?
    /// Further media types, for clients that accept them.
    var others: [(type: String, schema: SchemaNode)] = []
    /// The documented headers.
    var headers: [String: SchemaNode] = [:]

    private static let requestID = ["X-Request-Id": SchemaNode.reference("headers/RequestID")]

    /// Returns a JSON response with a shape, by its component name.
    static func json(_ status: Int, _ description: String, _ shape: String) -> Self {
        Self(
            status: status,
            description: description,
            content: ("application/json", .shape(shape)),
            headers: requestID
        )
    }

    /// Returns a response with status 200 and a shape.
    static func ok(_ description: String, _ shape: String) -> Self {
        json(200, description, shape)
    }

    /// The response, also available as a CSV file.
    var alsoCSV: Self {
        var answer = self
        answer.others.append(("text/csv", ["type": "string"]))
        return answer
    }

    /// Returns a response with a page for people.
    static func page(_ status: Int, _ description: String) -> Self {
        Self(
            status: status,
            description: description,
            content: ("text/html", ["type": "string"])
        )
    }

    /// Returns the response with further headers if it has a body.
    fileprivate func with(_ more: [String: SchemaNode]) -> Self {
        guard content != nil else { return self }
        var answer = self
        answer.headers.merge(more) { own, _ in own }
        return answer
    }

    /// Returns a response with status 304.
    static func notModified(_ description: String) -> Self {
        Self(status: 304, description: description)
    }
}

/// The routes that have a handler, by pattern or path.
struct RouteTable: Sendable {
    let routes: [RouteDescription]
    private let byPattern: [String: RouteDescription]

    /// Creates the table.
    ///
    /// No two routes share a method and a path.
    init(_ routes: [RouteDescription]) {
        self.routes = routes
        byPattern = Dictionary(
            uniqueKeysWithValues: routes.flatMap { route in
                route.paths.map { ("\(route.methodName) \($0)", route) }
            }
        )
    }

    /// Returns the route that the router matched, by pattern and method; `nil` if there is none.
    func matched(_ pattern: String?, _ method: HTTPRequest.Method) -> RouteDescription? {
        pattern.flatMap { byPattern["\(method.rawValue) \($0)"] }
    }

    /// Returns the methods of the routes at this path, for a 405.
    ///
    /// As in the router, a literal segment takes precedence over a variable one: `/v1/watches/batch` is not a source.
    func methods(at path: String) -> [String] {
        let segments = path.split(separator: "/")
        let fitting = Set(routes.flatMap(\.paths)).filter { path in
            let pattern = path.split(separator: "/")
            return pattern.count == segments.count
                && zip(pattern, segments).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        // `{` sorts after every letter.
        guard let nearest = fitting.min() else { return [] }
        let methods = routes.filter { $0.paths.contains(nearest) }.map(\.methodName)
        // A route with GET also responds to HEAD (``HTTPConformanceHandler``).
        return methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
    }
}
