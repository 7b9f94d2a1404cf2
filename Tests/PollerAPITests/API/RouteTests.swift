import Foundation
import NIOHTTP1
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Route descriptions")
struct RouteTests {
    /// Values of the variable segments.
    private static let values = [
        "{source}": "src_1", "{endpoint}": "ep_1", "{lane}": "default/sources",
        "{delivery}": "dlv_0_AAAAAAAAAAAA", "{recipient}": "a@b.example", "{account}": "default",
        "{token}": "x", "{key}": "key_AAAAAAAAAAAA",
        "{seq}": "1", "{suppression}": "AAAAAAAAAAAA",
    ]

    private static func path(_ route: RouteDescription) -> String {
        values.reduce(route.path) { $0.replacing($1.key, with: $1.value) }
    }

    @Test("`openapi.json` describes exactly the existing routes and codes")
    func openAPI() async throws {
        try await LiveAPI.run { api in
            let document = try await api.get("/openapi.json").json
            let paths = try #require(document["paths"] as? [String: [String: Any]])
            var described: Set<String> = []
            for (path, methods) in paths {
                for method in methods.keys { described.insert("\(method.uppercased()) \(path)") }
            }
            // Pages for people are described only on request.
            let clients = api.routes.filter {
                $0.path.hasPrefix("/v1/") || $0.operation == "openAPI"
            }
            #expect(described == Set(clients.map(\.line)))
            let whole = try await api.get("/openapi.json?pages=true").json
            let all = try #require(whole["paths"] as? [String: [String: Any]])
            #expect(all.values.reduce(0) { $0 + $1.count } == api.routes.count)
            let components = try #require(document["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            let codes = schemas["ProblemCode"]?["enum"] as? [String]
            #expect(codes == ProblemCode.allCases.map(\.rawValue))
        }
    }

    @Test("descriptions are complete: unique names, path parameters, existing schemas")
    func descriptions() async throws {
        try await LiveAPI.run { api in
            let routes = api.routes
            #expect(Set(routes.map(\.operation)).count == routes.count)
            for route in routes {
                let segments = route.path.split(separator: "/").filter { $0.hasPrefix("{") }
                let named = route.parameters.filter { $0.location == .path }.map { "{\($0.name)}" }
                #expect(named == segments.map(String.init), "\(route.operation)")
                let names = route.parameters.map { "\($0.location) \($0.name)" }
                #expect(Set(names).count == names.count, "\(route.operation)")
                let statuses = route.answers.map(\.status) + route.problems
                #expect(Set(statuses).count == statuses.count, "\(route.operation)")
            }
            let document = try await api.get("/openapi.json?pages=true")
            let components = try #require(document.json["components"] as? [String: Any])
            for match in document.text.matches(of: /#\/components\/([a-z]+)\/([A-Za-z]+)/) {
                let group = components[String(match.output.1)] as? [String: Any]
                #expect(group?[String(match.output.2)] != nil, "\(match.output.0)")
            }
        }
    }

    /// Changes that need no key but another secret.
    ///
    /// Signing out changes nothing.
    private static let wishes: Set = [
        "returnVerify", "returnRefundAccount", "unsubscribe", "endSession",
    ]

    @Test(
        "without keys, unsigned routes reject foreign origins, and routes with a scope reject `null`"
    )
    func origins() async throws {
        try await LiveAPI.run { api in
            for route in api.routes {
                let method = HTTPMethod(rawValue: route.methodName)
                func isRefused(_ origin: String) async throws -> Bool {
                    let answer = try await api.request(
                        method,
                        Self.path(route),
                        body: method == .GET ? nil : "{}",
                        headers: ["Origin": origin]
                    )
                    return answer.status == 403 && answer.code == "not_local"
                }
                let isForeignRefused = try await isRefused("https://evil.example")
                #expect(isForeignRefused == (route.access != .signed), "\(route.operation)")
                let isPlacelessRefused = try await isRefused("null")
                #expect(isPlacelessRefused == (route.access.scope != nil), "\(route.operation)")
                if route.access == .anyClient, method != .GET {
                    #expect(Self.wishes.contains(route.operation))
                }
            }
        }
    }

    @Test("every route rejects unknown parameters, except routes that other sites link to")
    func unknownParameters() async throws {
        let lenient = [
            "stripeWebhook", "stripeAccountWebhook", "openAPI", "returnLanding", "returnPage",
            "returnContinue", "returnVerify", "returnVerifyAgain", "returnRefundAccount",
            "returnRefundAccountAgain",
            "unsubscribePage", "unsubscribe",
        ]
        try await LiveAPI.run { api in
            for route in api.routes {
                let method = HTTPMethod(rawValue: route.methodName)
                let target = "\(Self.path(route))?nobody_knows=1"
                let answer = try await api.request(method, target)
                let isRefused = answer.status == 400 && answer.code == "unknown_parameter"
                #expect(isRefused != lenient.contains(route.operation), "\(method) \(target)")
            }
        }
    }
}
