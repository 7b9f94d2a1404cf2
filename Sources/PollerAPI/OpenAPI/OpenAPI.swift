import HTTPTypes
import Hummingbird
import JSONText
import PollerIdentity
import PollerOperations
import PollerWire

/// `/openapi.json`: the OpenAPI 3.1 description of the routes.
///
/// The document is built at its first request, from the routes that have a handler, so routes and description cannot differ. Bodies and
/// responses refer to shapes among the components. The server in the document is the address of the request
/// (``OpenAPIServer``). Pages for people are left out, so that generators create no methods for them. `?pages=true`
/// adds them, for tests that try every route.
/// *Source*: <https://spec.openapis.org/oas/v3.1.0>.
struct OpenAPI {
    static let route = Route(
        .get,
        "/openapi.json",
        "openAPI",
        "Read this document",
        access: .anyClient,
        input: RouteInput<Bool>.flag(
            "pages",
            "Whether to include the pages for payers and the console."
        )
        .lenient(),
        answers: [
            RouteAnswer(
                status: 200,
                description: "OpenAPI 3.1.",
                content: ("application/json", ["type": "object"])
            )
        ],
        problems: [400]
    )

    /// Returns the route that serves the description of these routes and of itself.
    static func describing(_ routes: [AnsweredRoute], at server: OpenAPIServer) -> AnsweredRoute {
        let texts = OpenAPITexts(of: routes.map(\.description) + [route.description])
        return route.answered { withPages, request, context in
            let url = server.url(of: request, context)
            return Response(json: texts.text(withPages: withPages).text(for: url))
        }
    }

    /// Returns the whole document.
    static func document(of routes: [RouteDescription], withPages: Bool = false) -> SchemaNode {
        var paths: [(name: String, methods: [(String, SchemaNode)])] = []
        let described = routes.filter { withPages || !$0.isPage }
        for route in described {
            let method = (route.methodName.lowercased(), operation(route))
            if let index = paths.firstIndex(where: { $0.name == route.path }) {
                paths[index].methods.append(method)
            } else {
                paths.append((route.path, [method]))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Poller API",
                "version": "1",
                "description": """
                Watches payments and other sources at their upstreams until their status is final, and delivers \
                each change to the registered recipients. Errors are RFC 9457 problems with a stable code; times \
                are RFC 3339 UTC with milliseconds; spans are written 90s, 5m, 36h, 7d.
                """,
            ],
            "servers": [["url": .text(OpenAPIText.placeholder)]],
            "security": [["key": []], [:]],
            "tags": .list(OpenAPITag.all(of: described)),
            "paths": .object(paths.map { ($0.name, .object($0.methods)) }),
            "components": components(withPages: withPages),
        ]
    }

    private static func components(withPages: Bool) -> SchemaNode {
        [
            "securitySchemes": [
                "key": [
                    "type": "http", "scheme": "bearer",
                    "description": """
                    A key with the scope in the operation's x-scope. A server without keys serves its own machine \
                    only.
                    """,
                ]
            ],
            "headers": [
                "RequestID": [
                    "description": "The ID of this request in the server's log.",
                    "schema": ["type": "string"],
                ],
                "ETag": [
                    "description": """
                    The tag of the response. Send it as If-None-Match to receive 304 while nothing has changed, or \
                    as If-Match to change only this version.
                    """,
                    "schema": ["type": "string"],
                ],
            ],
            "responses": [
                "Problem": [
                    "description": "The problem, and how to solve it.",
                    "headers": [
                        "X-Request-Id": .reference("headers/RequestID"),
                        "Retry-After": [
                            "description":
                                "Seconds to wait. With 429, 503 and idempotency_key_in_use.",
                            "schema": ["type": "integer"],
                        ],
                    ],
                    "content": ["application/problem+json": media(.shape("Problem"))],
                ]
            ],
            "schemas": Schemas.all(withPages: withPages),
        ]
    }

    private static func operation(_ route: RouteDescription) -> SchemaNode {
        var members: [(String, SchemaNode)] = [
            ("operationId", .text(route.operation)), ("summary", .text(route.summary)),
            ("tags", [.text(OpenAPITag.name(of: route))]),
        ]
        if let details = route.details { members.append(("description", .text(details))) }
        // An operation without a `security` member has that of the document: a key, or none on a server without keys.
        if let scope = route.access.scope {
            members.append(("x-scope", .text(scope.rawValue)))
        } else {
            members.append(("security", [[:]]))
        }
        // A generator cannot express a parameter whose name each client chooses.
        let parameters = route.parameters.filter { $0.prefix == nil }
        if !parameters.isEmpty {
            members.append(("parameters", .list(parameters.map(parameter))))
        }
        if let body = route.body { members.append(("requestBody", request(body))) }
        let answers = route.answers.map { (String($0.status), answer($0)) }
        let problems = route.problems.map {
            (String($0), SchemaNode.reference("responses/Problem"))
        }
        members.append(("responses", .object(answers + problems)))
        return .object(members)
    }

    private static func parameter(_ parameter: RouteParameter) -> SchemaNode {
        [
            "name": .text(parameter.name), "in": .text(parameter.location.rawValue),
            "required": .flag(parameter.isRequired), "description": .text(parameter.description),
            "schema": parameter.schema,
        ]
    }

    private static func request(_ body: RouteBody) -> SchemaNode {
        var members: [(String, SchemaNode)] = [("required", .flag(body.isRequired))]
        if let description = body.description {
            members.append(("description", .text(description)))
        }
        members.append(
            ("content", .object(body.content.map { ($0.type, media($0.schema)) }))
        )
        return .object(members)
    }

    private static func answer(_ answer: RouteAnswer) -> SchemaNode {
        var members: [(String, SchemaNode)] = [("description", .text(answer.description))]
        if !answer.headers.isEmpty {
            let headers = answer.headers.sorted { $0.key < $1.key }
            members.append(("headers", .object(headers.map { ($0.key, $0.value) })))
        }
        if let content = answer.content {
            let all = [content] + answer.others
            members.append(("content", .object(all.map { ($0.type, media($0.schema)) })))
        }
        return .object(members)
    }

    /// Returns a schema with its example, if there is one.
    private static func media(_ schema: SchemaNode) -> SchemaNode {
        let example = schema.componentName.flatMap { Examples.json(of: $0) }
        return .object(
            [("schema", schema)] + (example.map { [("example", SchemaNode.json($0))] } ?? [])
        )
    }
}
