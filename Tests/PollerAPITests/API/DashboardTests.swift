import Crypto
import Foundation
import NIOHTTP1
import Testing

@testable import PollerAPI

@Suite("The dashboard")
struct DashboardTests {
    @Test("it is one page without a key, and its policy allows exactly its own style and script")
    func policy() async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys) { api in
            let page = try await api.get("/")
            #expect(page.status == 200)
            #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
            let policy = try #require(page.headers.first(name: "Content-Security-Policy"))
            #expect(policy.contains("default-src 'none'"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
                let parts = page.text.components(separatedBy: "<\(tag)>")
                #expect(parts.count == 2, "one \(tag)")
                let text = try #require(parts.last?.components(separatedBy: "</\(tag)>").first)
                #expect(text.count > 500, "the placeholder is filled")
                let digest = Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
                #expect(policy.contains("\(directive) 'sha256-\(digest)'"))
            }
            #expect(
                try await api.get("/v1/stats").status == 401,
                "the page is open, the API is not"
            )
        }
    }

    @Test("it loads nothing from elsewhere and never sets markup from what it reads")
    func selfContained() async throws {
        try await LiveAPI.run { api in
            let text = try await api.get("/").text
            for wrong in ["src=", "@import", "url(", "innerHTML", "insertAdjacentHTML", "style=\""]
            {
                #expect(!text.contains(wrong), "\(wrong)")
            }
            let links = text.components(separatedBy: "http").count - 1
            let namespaces = text.components(separatedBy: "http://www.w3.org/2000/svg").count - 1
            #expect(links == namespaces)
        }
    }

    @Test("every route the script asks for is one there is")
    func routes() async throws {
        let script = String(decoding: PackageResources.dashboard_js, as: UTF8.self)
        let asked = script.matches(of: /\/v1\/[a-z]+/).map { String($0.output) }
        #expect(asked.count >= 6)
        try await LiveAPI.run { api in
            let paths = api.routes.map(\.path)
            for path in asked { #expect(paths.contains { $0.hasPrefix(path) }, "\(path)") }
        }
    }
}
