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
        #expect(!APIKeys.none.verify(""))
        #expect(APIKeys.none.isEmpty)
        let keys = try APIKeys(text: Self.key)
        #expect(keys.verify(Self.key))
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
