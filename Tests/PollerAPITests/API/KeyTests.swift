import NIOHTTP1
import Poller
import Testing

@testable import PollerAPI

@Suite("Who may use the API")
struct KeyTests {
    private static let key = "pk_0123456789abcdef0123"

    @Test("with keys every /v1 route wants one, and only a right one is let in")
    func keysAreChecked() async throws {
        let keys = try APIKeys(text: "# ours\n\n  \(Self.key)  \nanother-key-of-somebody-else\n")
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

    @Test(
        "without keys a foreign name or origin is refused, whatever it looks like",
        arguments: [
            ["Host": "evil.example"], ["Host": "127.0.0.1.evil.example"],
            ["Host": "127.evil.com:8080"], ["Origin": "https://evil.example"],
            ["Origin": "null"], ["Origin": "http://localhost.evil.example"],
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
        "without keys what a proxy has passed on is refused: it may come from anywhere",
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
        try await LiveAPI.run(keys: APIKeys(text: Self.key)) { api in
            let answer = try await api.get("/v1/stats", headers: right)
            #expect(answer.status == 200)
        }
    }

    @Test("without keys a key changes nothing, and a request must say for whom it is")
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
            #expect(second.hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test(
        "without keys this machine is served under its own names",
        arguments: [
            ["Host": "localhost:8080"], ["Host": "[::1]:8080"], ["Host": "127.0.0.2"],
            ["Origin": "http://localhost:3000"],
        ]
    )
    func localNames(headers: [String: String]) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/stats", headers: headers)
            #expect(answer.status == 200)
        }
    }

    @Test(
        "files without a usable key are refused without quoting it",
        arguments: ["", "# only comments\n", "short-key", "a key with spaces in it 123"]
    )
    func badFiles(text: String) {
        let error = #expect(throws: InvalidInput.self) { try APIKeys(text: text) }
        #expect(error?.message.contains("short-key") == false)
    }

    @Test("no key verifies nobody, and descriptions hold no key")
    func noKeys() throws {
        #expect(APIKeys.none.name(of: "") == nil)
        #expect(APIKeys.none.isEmpty)
        let keys = try APIKeys(text: "# first\nanother-key-of-somebody-else\n\(Self.key)\n")
        #expect(keys.name(of: Self.key) == "key 2")
        #expect(keys.name(of: "\(Self.key)x") == nil)
        #expect(!"\(keys)".contains("pk_"))
    }

    @Test("addresses are read, and loopback is told by address and not by name")
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
