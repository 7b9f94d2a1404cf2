import Foundation
import NIOHTTP1
import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("API keys and local access")
struct KeyTests {
    private static let key = "pk_0123456789abcdef0123"

    @Test("with keys, `/v1` needs a valid key and `/openapi.json` needs none")
    func keysAreChecked() async throws {
        let keys = try KeyFile(text: "# ours\n\n  \(Self.key)  \nanother-key-of-somebody-else\n")
        try await LiveAPI.run(keys: keys) { api in
            let none = try await api.get("/v1/stats")
            #expect(none.status == 401)
            #expect(none.code == "unauthenticated")
            #expect(none.headers.first(name: "WWW-Authenticate") == "Bearer")
            for wrong in [
                "Bearer \(Self.key)x", "Basic \(Self.key)", "Bearer", Self.key, "Bearer ",
            ] {
                let answer = try await api.get("/v1/stats", headers: ["Authorization": wrong])
                #expect(answer.status == 401)
                #expect(!answer.text.contains(Self.key))
            }
            let right = ["Authorization": "bearer \(Self.key)"]
            #expect(try await api.get("/v1/stats", headers: right).status == 200)
            #expect(try await api.get("/openapi.json").status == 200)
            let foreign = right.merging(["Host": "api.example"]) { $1 }
            #expect(try await api.get("/v1/stats", headers: foreign).status == 200)
        }
    }

    @Test("two keys of a file with the same name get distinct names")
    func sameNames() throws {
        let text = "key-of-a-shop-0123456789 name=shop\nkey-of-another-0123456789 name=shop"
        let names = try KeyFile(text: text).callers.values.map(\.name).sorted()
        #expect(names == ["shop", "shop (2)"])
    }

    @Test(
        "without keys, requests with a foreign host or origin are rejected",
        arguments: [
            ["Host": "evil.example"], ["Host": "127.0.0.1.evil.example"],
            ["Host": "127.evil.com:8080"], ["Origin": "https://evil.example"],
            ["Origin": "null"], ["Origin": "http://localhost.evil.example"],
            ["Origin": "http://localhost:3000"], ["Origin": "http://127.0.0.1:3000"],
            ["Host": "localhost:8080", "Origin": "http://127.0.0.1:8080"],
            ["Host": "localhost:8080", "Origin": "https://localhost:8080"],
            ["Host": "localhost:8080", "Origin": "http://localhost"],
        ]
    )
    func foreignPages(headers: [String: String]) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/stats", headers: headers)
            #expect(answer.status == 403)
            #expect(answer.code == "not_local")
        }
    }

    @Test(
        "without keys, requests with a proxy header are rejected; with keys, they are served",
        arguments: [
            "Forwarded", "Via", "X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Proto",
            "X-Real-IP", "X-Original-Forwarded-For", "CF-Connecting-IP", "True-Client-IP",
        ]
    )
    func forwarded(header: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/stats", headers: [header: "127.0.0.1"])
            #expect(answer.status == 403)
            #expect(answer.code == "not_local")
        }
        let right = ["Authorization": "Bearer \(Self.key)", header: "192.0.2.1"]
        try await LiveAPI.run(keys: KeyFile(text: Self.key)) { api in
            let answer = try await api.get("/v1/stats", headers: right)
            #expect(answer.status == 200)
        }
    }

    @Test("without keys, a key does not help, and a missing, foreign or second host is rejected")
    func keysWithoutKeys() async throws {
        try await LiveAPI.run { api in
            let page = ["Authorization": "Bearer \(Self.key)", "Host": "evil.example"]
            #expect(try await api.get("/v1/stats", headers: page).status == 403)
            for target in ["/v1/stats", "//v1/stats", "/nowhere", "/"] {
                for head in ["", "Host: evil.example\r\n"] {
                    let answer = try await RawConnection.firstAnswer(
                        port: api.port,
                        to: "GET \(target) HTTP/1.0\r\n\(head)\r\n"
                    )
                    #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(target) \(head)")
                }
            }
            let second = try await RawConnection.firstAnswer(
                port: api.port,
                to: "GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
            )
            #expect(second.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test(
        "without keys, requests with a loopback host and a matching origin are served",
        arguments: [
            ["Host": "localhost:8080"], ["Host": "[::1]:8080"], ["Host": "127.0.0.2"],
            ["Host": "localhost:8080", "Origin": "http://localhost:8080"],
            ["Host": "127.0.0.1", "Origin": "http://127.0.0.1:80"],
            ["Host": "[::1]:8080", "Origin": "http://[::1]:8080"],
        ]
    )
    func localNames(headers: [String: String]) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/stats", headers: headers)
            #expect(answer.status == 200)
        }
    }

    @Test(
        "invalid key files are rejected, and the error does not contain the key",
        arguments: [
            "", "# only comments\n", "short-key", "a key with spaces in it 123",
            "pk_0123456789abcdef0123 role=boss", "pk_0123456789abcdef0123 allow=everything",
            "pk_0123456789abcdef0123 account=a,b{}",
        ]
    )
    func badFiles(text: String) {
        let error = #expect(throws: InvalidInput.self) { try KeyFile(text: text) }
        #expect(error?.message.contains("short-key") == false)
    }

    @Test("unnamed keys are numbered, unknown keys have no caller, and descriptions contain no key")
    func noKeys() throws {
        #expect(KeyFile.none.isEmpty)
        let keys = try KeyFile(text: "# first\nanother-key-of-somebody-else\n\(Self.key)\n")
        #expect(keys.callers[KeyDigest(of: Self.key)]?.name == "key 2")
        #expect(keys.callers[KeyDigest(of: "\(Self.key)x")] == nil)
        #expect(!"\(keys)".contains("pk_"))
    }

    @Test("listen addresses are parsed, and loopback addresses are recognised")
    func addresses() throws {
        #expect(try ListenAddress(":8080").description == "127.0.0.1:8080")
        #expect(try ListenAddress("[::1]:0").isLoopback)
        #expect(try !ListenAddress("0.0.0.0:8080").isLoopback)
        #expect(try !ListenAddress("[::]:8080").isLoopback)
        for text in ["", "8080", "h:", "h:65536", "h:-1", "::1:80", "[]:80", "a b:80"] {
            #expect(throws: InvalidInput.self) { try ListenAddress(text) }
        }
    }
}

/// Generated from the API description, so that added operations are covered automatically.
@Suite("Access with unusual spellings of a path")
struct AccessSpellingTests {
    private static let key = "pk_0123456789abcdef0123"
    /// Values for which an operation would succeed.
    ///
    /// Other parameters get an arbitrary value.
    private static let values = [
        "source": "src_1", "endpoint": "inline", "lane": "default/sources", "account": "default",
    ]
    /// A charge, which would do the most harm if accepted.
    private static let body = #"{"source":"src_1","charge":true}"#

    /// An operation of the description.
    struct Operation: CustomStringConvertible {
        let method: String
        let path: String
        /// Whether the operation is described as needing no key.
        let isPublic: Bool

        var description: String { "\(method) \(path)" }
    }

    @Test("operations need a key with any spelling of their path")
    func spellings() async throws {
        try await LiveAPI.run(keys: try KeyFile(text: Self.key)) { api in
            let operations = try await Self.operations(api)
            // Public operations are payer pages. Each form has a route that shows it and one that accepts it.
            #expect(operations.count { $0.isPublic } < operations.count / 3)
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

    @Test("unknown paths and methods need a key")
    func unmatched() async throws {
        try await LiveAPI.run(keys: try KeyFile(text: Self.key)) { api in
            for target in [
                "HEAD /v1/watches", "GET /v2/watches", "GET /nowhere", "OPTIONS *",
                "OPTIONS /v1/watches", "PUT /openapi.json", "GET /v1/stripe/webhook",
                "POST /v1/stripe/webhook/a/b", "POST /v1/stripe/webhooks", "GET /r/src_1/state/x",
            ] {
                let parts = target.split(separator: " ").map(String.init)
                let answer = try await Self.answer(api, parts[0], parts[1])
                #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(target)")
            }
        }
    }

    @Test("public operations respond without a key")
    func publicOperations() async throws {
        try await LiveAPI.run(keys: try KeyFile(text: Self.key)) { api in
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

    /// Returns spellings of a path in a request line, including those of an attacker.
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

    /// Sends a request line that no HTTP library would send unchanged.
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
