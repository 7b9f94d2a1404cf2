import NIOHTTP1
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerAPI

/// Signing a browser in to the console, and the rights of its cookie.
@Suite("Sessions of the console", .timeLimit(.minutes(5)))
struct SessionRoutesTests {
    private static let key = "pk_0123456789abcdef0123"

    private func run(_ body: (LiveAPI) async throws -> Void) async throws {
        try await LiveAPI.run(keys: KeyFile(text: "\(Self.key) role=support name=desk"), body)
    }

    /// Signs in and returns the `Set-Cookie` value.
    private func signIn(_ api: LiveAPI) async throws -> String {
        let answer = try await api.request(
            .POST,
            "/v1/session",
            headers: ["Authorization": "Bearer \(Self.key)"]
        )
        #expect(answer.status == 200 && answer["name"] == "desk", "\(answer.text)")
        return try #require(answer.headers.first(name: "Set-Cookie"))
    }

    /// Returns the part of a `Set-Cookie` value that a browser sends back.
    private func sent(_ cookie: String) -> String { String(cookie.prefix { $0 != ";" }) }

    @Test("the cookie replaces the key, is hidden from scripts and does not reveal the key")
    func signedIn() async throws {
        try await run { api in
            let cookie = try await signIn(api)
            for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
                #expect(cookie.contains(part), "\(cookie)")
            }
            #expect(
                !cookie.contains("Max-Age") && !cookie.contains("Expires"),
                "ends with the browser"
            )
            #expect(!cookie.contains(Self.key))
            let headers = ["Cookie": "a=b; \(sent(cookie))", "Poller-Console": "1"]
            let caller = try await api.get("/v1/caller", headers: headers)
            #expect(caller.status == 200 && caller["name"] == "desk", "\(caller.text)")
            // Another tab of the same browser, for which the role applies as well.
            let refused = try await api.request(.POST, "/v1/keys", body: "{}", headers: headers)
            #expect(refused.code == "not_allowed")
        }
    }

    @Test("a cookie in a request of another site is ignored")
    func otherSites() async throws {
        try await run { api in
            let cookie = sent(try await signIn(api))
            let requests: [[String: String]] = [
                // A form, a link or an image: a page of another origin cannot set the header.
                ["Cookie": cookie],
                ["Cookie": cookie, "Poller-Console": "1", "Sec-Fetch-Site": "cross-site"],
                ["Cookie": cookie, "Poller-Console": "1", "Sec-Fetch-Site": "same-site"],
            ]
            for headers in requests {
                let answer = try await api.get("/v1/caller", headers: headers)
                #expect(answer.status == 401, "\(headers)")
            }
            let own = ["Cookie": cookie, "Poller-Console": "1", "Sec-Fetch-Site": "same-origin"]
            #expect(try await api.get("/v1/caller", headers: own).status == 200)
        }
    }

    @Test("a changed cookie, or one of another server, is rejected")
    func forged() async throws {
        var foreign = ""
        try await run { foreign = sent(try await signIn($0)) }
        try await run { api in
            let cookie = sent(try await signIn(api))
            let name = try #require(cookie.split(separator: "=").first.map(String.init))
            let value = cookie.dropFirst(name.count + 1)
            let foreignValue = foreign.split(separator: "=").last.map(String.init) ?? ""
            for wrong in [
                "\(name)=", "\(name)=x", "\(name)=\(value.dropLast(2))AA", "\(name)=\(Self.key)",
                "\(name)=\(foreignValue)",
            ] {
                let headers = ["Cookie": wrong, "Poller-Console": "1"]
                #expect(try await api.get("/v1/caller", headers: headers).status == 401, "\(wrong)")
            }
        }
    }

    @Test("revoking a key ends its sessions, and every session ends after 12 h")
    func ended() async throws {
        try await LiveAPI.run(keys: KeyFile(text: "\(Self.key) role=admin name=boss")) { api in
            let made = try await api.request(
                .POST,
                "/v1/keys",
                body: #"{"role":"viewer"}"#,
                headers: [
                    "Authorization": "Bearer \(Self.key)", "Content-Type": "application/json",
                ]
            )
            let key = try #require(made["key"], "\(made.text)")
            let id = try #require(made["id"])
            let bearer = ["Authorization": "Bearer \(key)"]
            try await eventually("the key is known") {
                try await api.get("/v1/caller", headers: bearer).status == 200
            }
            let begun = try await api.request(.POST, "/v1/session", headers: bearer)
            let cookie = sent(try #require(begun.headers.first(name: "Set-Cookie")))
            let headers = ["Cookie": cookie, "Poller-Console": "1"]
            #expect(try await api.get("/v1/caller", headers: headers).status == 200)
            let revoked = try await api.request(
                .DELETE,
                "/v1/keys/\(id)",
                headers: ["Authorization": "Bearer \(Self.key)"]
            )
            #expect(revoked.status == 200, "\(revoked.text)")
            try await eventually("its session has ended with it") {
                try await api.get("/v1/caller", headers: headers).status == 401
            }
        }
        let sessions = ConsoleSessions.ephemeral
        let request = SessionRequest.of(cookie: nil)
        let start = Timestamp(ms: 1_795_165_200_000)
        let cookie = sent(try #require(sessions.cookie("pk_x", for: request, at: start)))
        let again = SessionRequest.of(cookie: cookie)
        let last = start + ConsoleSessions.span
        #expect(sessions.key(of: again, at: last + .milliseconds(-1)) == "pk_x")
        #expect(sessions.key(of: again, at: last) == nil)
    }

    @Test("signing out removes the cookie, and without keys there is no cookie")
    func signedOut() async throws {
        try await run { api in
            let cookie = try await signIn(api)
            let out = try await api.request(
                .DELETE,
                "/v1/session",
                headers: ["Cookie": sent(cookie), "Poller-Console": "1"]
            )
            #expect(out.status == 204 && out.text.isEmpty)
            let removed = try #require(out.headers.first(name: "Set-Cookie"))
            #expect(removed.contains("; Max-Age=0;"))
            let name = cookie.prefix { $0 != "=" }
            #expect(removed.hasPrefix("\(name)=;"), "\(removed)")
            // Also with an invalid cookie or an unknown key.
            let others: [[String: String]] = [
                ["Cookie": "\(name)=x", "Poller-Console": "1"],
                ["Authorization": "Bearer nobody"], [:],
            ]
            for headers in others {
                let bare = try await api.request(.DELETE, "/v1/session", headers: headers)
                #expect(bare.status == 204 && bare.headers.contains(name: "Set-Cookie"))
            }
            let foreign = try await api.request(
                .DELETE,
                "/v1/session",
                headers: ["Sec-Fetch-Site": "cross-site"]
            )
            #expect(foreign.status == 403 && !foreign.headers.contains(name: "Set-Cookie"))
        }
        try await LiveAPI.run { api in
            let answer = try await api.request(.POST, "/v1/session")
            #expect(answer.status == 200 && !answer.headers.contains(name: "Set-Cookie"))
        }
    }

    @Test("over TLS, the cookie is limited to its host, and each port has its own cookie name")
    func names() throws {
        let sessions = ConsoleSessions.ephemeral
        let now = Timestamp(ms: 0)
        func cookie(_ host: String, _ origin: String?) throws -> String {
            let request = SessionRequest.of(host: host, origin: origin)
            let cookie = try #require(sessions.cookie("k", for: request, at: now))
            // Requests that only read have no Origin.
            let reading = SessionRequest.of(host: host, cookie: sent(cookie))
            #expect(sessions.key(of: reading, at: now) == "k", "\(cookie)")
            return cookie
        }
        let remote = try cookie("ops.example", "https://ops.example")
        #expect(remote.hasPrefix("__Host-poller-console=") && remote.hasSuffix("; Secure"))
        for origin in ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"] {
            let local = try cookie("127.0.0.1:8080", origin)
            #expect(local.hasPrefix("poller-console-8080=") && !local.contains("Secure"))
        }
        let other = try cookie("127.0.0.1:8081", "http://127.0.0.1:8081")
        #expect(other.hasPrefix("poller-console-8081="))
        // A proxy that names this machine as Host, plain HTTP from another machine, and requests without an origin.
        for origin in ["https://ops.example", "http://ops.example", "null", nil] {
            let proxied = try cookie("127.0.0.1:8080", origin)
            #expect(proxied.hasPrefix("__Host-poller-console-8080="), "\(origin ?? "none")")
            #expect(proxied.hasSuffix("; Secure"))
        }
    }
}
