import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerNet
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("The API under a base path")
struct BasePathTests {
    private static let secret = "src_1_secret_abc"

    @Test(
        "a base path is parsed with or without surrounding slashes",
        arguments: [
            ("/poller", "/poller"), ("a/b/", "/a/b"), ("/", ""), ("", ""), ("/v1.0~x", "/v1.0~x"),
        ]
    )
    func read(text: String, path: String) throws {
        #expect(try BasePath(text).description == path)
    }

    @Test(
        "an invalid base path is rejected",
        arguments: [
            "//evil.example", "/a//b", "/..", "/a/./b", "/a b", "/\"><script>", "/a?x", "/é",
        ]
    )
    func refused(text: String) {
        #expect(throws: InvalidInput.self) { try BasePath(text) }
    }

    @Test("the base path of a URL is its path")
    func ofURL() throws {
        #expect(try BasePath(ofURL: "https://ops.example/poller").description == "/poller")
        #expect(try BasePath(ofURL: "https://ops.example").isRoot)
    }

    @Test("a prefix is stripped at segment boundaries only")
    func stripped() throws {
        let base = try BasePath("/poller")
        #expect(base.stripped("/poller/v1/stats?x=1") == "/v1/stats?x=1")
        #expect(base.stripped("/poller?x") == "/?x")
        #expect(base.stripped("/pollers/v1") == "/pollers/v1")
        #expect(base.stripped("/v1/stats") == "/v1/stats")
        #expect(BasePath.root.stripped("/v1") == "/v1")
    }

    @Test("console pages and scripts contain no absolute paths")
    func relative() async throws {
        let absolute = /(?:src|href|action)="\/[^"\/]|["'`]\/(?:v1|console|r|u)\//
        try await LiveAPI.run(basePath: BasePath("/poller")) { api in
            for path in ["/", "/poller/"] {
                let page = try await api.get(path)
                #expect(page.status == 200 && page.text.firstMatch(of: absolute) == nil)
                #expect(page.text.contains(#"src="console/app.js""#))
            }
        }
        for (name, script) in ConsoleScript.all {
            let found = String(buffer: script.text).firstMatch(of: absolute)
            #expect(found == nil, "\(name): \(found.map { String($0.output) } ?? "")")
        }
    }

    @Test("requests work with and without the prefix, and payer pages use it")
    func prefixed() async throws {
        try await run(basePath: BasePath("/poller")) { api in
            let key = ["Authorization": "Bearer pk_0123456789abcdef0123"]
            for (path, status) in [
                ("/poller/v1/caller", 200), ("/v1/caller", 200), ("/pollers/v1/caller", 404),
            ] {
                #expect(try await api.get(path, headers: key).status == status, "\(path)")
            }
            let slash = try await api.fetch("/poller")
            #expect(slash.status == 307 && slash.headers.first(name: "Location") == "/poller/")
            for prefix in ["", "/poller"] {
                try await visit(api, prefix, expecting: "/poller")
            }
        }
    }

    @Test("`X-Forwarded-Prefix` is used only from a trusted proxy")
    func forwarded() async throws {
        let forwarded = ["X-Forwarded-Prefix": "/ops, /poller"]
        try await run(proxies: [AddressRange("127.0.0.0/8")]) { api in
            try await visit(api, "", expecting: "/ops/poller", forwarded)
            try await visit(api, "", expecting: "")
            let page = try await api.get("/", headers: forwarded)
            #expect(page.text.contains(#"<base href="/ops/poller/">"#))
            let policy = page.headers.first(name: "Content-Security-Policy")
            #expect(policy?.contains("base-uri 'self'") == true)
            let evil = ["X-Forwarded-Prefix": "//evil.example"]
            try await visit(api, "", expecting: "", evil)
        }
        for proxies in [[], ["10.0.0.0/8"]] {
            try await run(proxies: proxies.map { try AddressRange($0) }) { api in
                try await visit(api, "", expecting: "", forwarded)
                let page = try await api.get("/", headers: forwarded)
                #expect(!page.text.contains("<base"))
                let policy = page.headers.first(name: "Content-Security-Policy")
                #expect(policy?.contains("base-uri 'none'") == true)
            }
        }
    }

    /// Returns from the bank and opens the page, whose URLs must have the expected prefix.
    private func visit(
        _ api: LiveAPI,
        _ prefix: String,
        expecting base: String,
        _ headers: [String: String] = [:]
    ) async throws {
        let landing = "\(prefix)/r?source=src_1&client_secret=\(Self.secret)"
        let answer = try await api.fetch(landing, headers: headers)
        #expect(answer.status == 303)
        #expect(answer.headers.first(name: "Location") == "\(base)/r/src_1")
        let cookie = answer.headers.first(name: "Set-Cookie").map {
            String($0.prefix { $0 != ";" })
        }
        let proof = headers.merging(["Cookie": cookie ?? ""]) { $1 }
        let page = try await api.fetch("\(prefix)/r/src_1", headers: proof)
        #expect(page.status == 200)
        #expect(page.text.contains(#"data-page="\#(base)/r/src_1""#))
        #expect(page.text.contains(#"data-watch="\#(base)/r/src_1/state""#))
    }

    private func run(
        basePath: BasePath = .root,
        proxies: [AddressRange] = [],
        _ body: (LiveAPI) async throws -> Void
    ) async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys, basePath: basePath, proxies: proxies) { api in
            let new = try NewWatch(
                key: WatchKey(account: .main, source: SourceID("src_1"), kind: .source),
                clientSecret: ClientSecret(Self.secret)
            )
            _ = try await api.store.enqueue([new])
            try await body(api)
        }
    }
}
