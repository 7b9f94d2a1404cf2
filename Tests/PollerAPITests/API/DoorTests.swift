import Foundation
import PollerTesting
import Testing

@testable import PollerAPI

/// Generated from the API's description, so that an operation that is added is covered by itself.
@Suite("The door, whatever an address looks like")
struct DoorTests {
    private static let key = "pk_0123456789abcdef0123"
    /// Values that an operation would serve; anything else for parameters nobody has named yet.
    private static let values = [
        "source": "src_1", "endpoint": "inline", "lane": "default/sources", "account": "default",
    ]
    /// A charge: what hurts most if it is served.
    private static let body = #"{"source":"src_1","charge":true}"#

    /// An operation of the description.
    struct Operation: CustomStringConvertible {
        let method: String
        let path: String
        /// Whether it says that it needs no key.
        let isPublic: Bool

        var description: String { "\(method) \(path)" }
    }

    @Test("with keys, an operation without one is refused, however its path is spelt")
    func spellings() async throws {
        try await LiveAPI.run(keys: try APIKeys(text: Self.key)) { api in
            let operations = try await Self.operations(api)
            #expect(operations.count { $0.isPublic } < operations.count / 4)
            for operation in operations where !operation.isPublic {
                for target in Self.spellings(of: Self.path(operation), port: api.port) {
                    let answer = try await Self.answer(api, operation.method, target)
                    #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(operation.method) \(target)")
                }
            }
            let right = ["Authorization": "Bearer \(Self.key)"]
            for path in ["/v1/watches", "/v1/endpoints", "/v1/lanes"] {
                #expect(try await api.get(path, headers: right).list("data").isEmpty)
            }
        }
    }

    @Test("paths and methods that nothing answers want a key, too")
    func unmatched() async throws {
        try await LiveAPI.run(keys: try APIKeys(text: Self.key)) { api in
            for target in [
                "HEAD /", "GET /v2/watches", "GET /nowhere", "OPTIONS *",
                "OPTIONS /v1/watches", "PUT /openapi.json", "GET /v1/stripe/webhook",
                "POST /v1/stripe/webhook/a/b", "POST /v1/stripe/webhooks", "GET /r/src_1/state/x",
            ] {
                let parts = target.split(separator: " ").map(String.init)
                let answer = try await Self.answer(api, parts[0], parts[1])
                #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(target)")
            }
        }
    }

    @Test("what the description calls public answers without a key")
    func publicOperations() async throws {
        try await LiveAPI.run(keys: try APIKeys(text: Self.key)) { api in
            for operation in try await Self.operations(api) where operation.isPublic {
                let answer = try await Self.answer(api, operation.method, Self.path(operation))
                #expect(!answer.hasPrefix("HTTP/1.1 401 "), "\(operation)")
            }
        }
    }

    private static func operations(_ api: LiveAPI) async throws -> [Operation] {
        let document = try await api.get("/openapi.json").json
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        return paths.sorted { $0.key < $1.key }.flatMap { path, methods in
            methods.map { method, operation in
                let security = operation["security"] as? [[String: Any]]
                return Operation(
                    method: method.uppercased(),
                    path: path,
                    isPublic: security?.allSatisfy(\.isEmpty) ?? false
                )
            }
        }
    }

    private static func path(_ operation: Operation) -> String {
        operation.path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard segment.hasPrefix("{") else { return String(segment) }
            return values[String(segment.dropFirst().dropLast())] ?? "x"
        }.joined(separator: "/")
    }

    /// What a request line may carry for a path, and what somebody who tries doors makes of it.
    private static func spellings(of path: String, port: Int) -> [String] {
        let head = path.dropFirst().prefix { $0 != "/" }
        let tail = path.dropFirst(1 + head.count)
        let escaped = head.utf8.map { "%" + String($0, radix: 16) }.joined()
        let doubled = path.replacing("/", with: "//")
        return [
            path, "/\(path)", "//\(path)", doubled, "/\(head)/\(tail)", "/.\(path)", "/x/..\(path)",
            "/\(head)/.\(tail)", "/\(escaped)\(tail)", "/\(head.uppercased())\(tail)", "\(path)/",
            "\(path)//", "\(path)?", "\(path)?x=1", "\(path)#x", "\(path);x=1", "\(path)%2F",
            "http://localhost:\(port)\(path)", "http://localhost:\(port)/\(path)",
            "http://localhost\(path)", "HTTP://localhost\(path)", "http://\(path)",
        ]
    }

    /// Sends what no HTTP library would send as it is.
    private static func answer(
        _ api: LiveAPI,
        _ method: String,
        _ target: String
    ) async throws -> String {
        let hasBody = ["POST", "PUT", "PATCH"].contains(method)
        return try await RawConnection.firstAnswer(
            port: api.port,
            to: "\(method) \(target) HTTP/1.1\r\nHost: localhost:\(api.port)\r\n"
                + "Connection: close\r\n"
                + (hasBody
                    ? "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                    : "")
                + "\r\n" + (hasBody ? body : "")
        )
    }
}
