import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerOperations
import PollerWire
import Testing

@testable import PollerAPI

@Suite("The console")
struct ConsoleTests {
    private static let scripts = ConsoleScript.all.mapValues { String(buffer: $0.text) }

    @Test("the page needs no key, and its policy allows only its own style and scripts")
    func policy() async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys) { api in
            let page = try await api.get("/")
            #expect(page.status == 200)
            #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
            let policy = try #require(page.headers.first(name: "Content-Security-Policy"))
            for part in [
                "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
                "require-trusted-types-for 'script'", "trusted-types 'none'",
            ] {
                #expect(policy.contains(part))
            }
            #expect(!policy.contains("unsafe"))
            let style = try #require(
                page.text.components(separatedBy: "<style>").last?
                    .components(separatedBy: "</style>").first
            )
            #expect(style.count > 500, "the placeholder is filled")
            let digest = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
            #expect(policy.contains("style-src 'sha256-\(digest)'"))
            #expect(
                try await api.get("/v1/stats").status == 401,
                "the page is open, the API is not"
            )
        }
    }

    @Test("scripts need no key, have the script content type, and are cached by ETag")
    func modules() async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys) { api in
            for (name, text) in Self.scripts {
                let answer = try await api.get("/console/\(name)")
                #expect(answer.status == 200 && answer.text == text)
                #expect(
                    answer.headers.first(name: "Content-Type") == "text/javascript; charset=utf-8"
                )
                #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff")
                #expect(answer.headers.first(name: "Cache-Control") == "no-cache")
                let tag = try #require(answer.headers.first(name: "ETag"))
                let again = try await api.get("/console/\(name)", headers: ["If-None-Match": tag])
                #expect(again.status == 304 && again.text.isEmpty)
                #expect(again.headers.first(name: "ETag") == tag)
            }
            for wrong in ["nothing.js", "console.css", "%2e%2e%2fapp.js", "app.js.map"] {
                #expect(try await api.get("/console/\(wrong)").status == 404)
            }
        }
    }

    @Test("only `/console/{file}` serves scripts")
    func nothingElseRuns() async throws {
        try await LiveAPI.run { api in
            let scripts = api.routes.filter { route in
                route.answers.contains { $0.content?.type.contains("javascript") ?? false }
            }
            #expect(scripts.map(\.path) == ["/console/{file}"])
        }
    }

    @Test("every imported module exists, and every module is imported")
    func imports() throws {
        var (reached, left) = (Set<String>(), ["app.js"])
        while let name = left.popLast() {
            guard reached.insert(name).inserted else { continue }
            let script = try #require(Self.scripts[name], "\(name)")
            left += script.matches(of: /from "\.\/([a-z]+\.js)"/).map { String($0.output.1) }
        }
        #expect(reached == Set(Self.scripts.keys))
    }

    @Test("the currencies match the server's table")
    func currencies() throws {
        let script = try #require(Self.scripts["currencies.js"])
        let lists = script.matches(of: /export const ([a-zA-Z]+) = new Set\("([a-z ]+)"/)
            .map { (String($0.output.1), Set($0.output.2.split(separator: " ").map(String.init))) }
        let named = Dictionary(lists) { first, _ in first }
        #expect(
            named == [
                "zeroDecimal": CurrencyUnit.zeroDecimal, "threeDecimal": CurrencyUnit.threeDecimal,
                "wholeInHundredths": CurrencyUnit.wholeInHundredths,
            ]
        )
        let words = try #require(Self.scripts["words.js"])
        #expect(words.contains("from \"./currencies.js\"") && !words.contains("jpy"))
    }

    @Test("the page and its scripts load nothing external and never set markup")
    func selfContained() async throws {
        try await LiveAPI.run { api in
            let page = try await api.get("/").text
            for (name, text) in Self.scripts.merging(["the page": page], uniquingKeysWith: { $1 }) {
                let sinks = [
                    "@import", "url(", "innerHTML", "outerHTML", "insertAdjacentHTML", "style=\"",
                    "document.write", "eval(", "import(", "localStorage",
                ]
                for wrong in sinks { #expect(!text.contains(wrong), "\(name): \(wrong)") }
                // URLs in placeholders of input fields are not loaded.
                let elsewhere = text.matches(of: /https?:\/\/[a-z0-9.]+/).map { String($0.output) }
                    .filter { $0 != "http://www.w3.org" && !$0.hasSuffix("example.com") }
                #expect(elsewhere == [], "\(name)")
            }
            #expect(page.components(separatedBy: "src=").count == 2, "the script alone")
        }
    }

    @Test("one function makes all links to an order, because the account is part of them")
    func orderLinks() throws {
        let made = Self.scripts.filter { $0.value.contains("#/orders/${") }
        #expect(made.keys.sorted() == ["api.js"])
        let links = Self.scripts.values.joined().matches(of: /orderLink\(([^()]+)\)/)
        #expect(links.count >= 6)
        for link in links { #expect(link.output.1.contains("account"), "\(link.output.0)") }
    }

    @Test("every route and scope that the console uses exists")
    func routes() async throws {
        // Routes that the console probes and shows only if they exist.
        let optional: Set<String> = []
        let all = Self.scripts.values.joined()
        let asked = Set(all.matches(of: /["`](v1\/[a-z]+)/).map { "/\($0.output.1)" })
        #expect(asked.count >= 10)
        try await LiveAPI.run { api in
            let paths = api.routes.map(\.path)
            for path in asked.subtracting(optional) {
                #expect(paths.contains { $0.hasPrefix(path) }, "\(path)")
            }
        }
        let scopes = Set(
            all.matches(of: /(?:may\(|scope: )"([a-z]+:[a-z]+)"/).map { String($0.output.1) }
        )
        #expect(scopes.count >= 10)
        for scope in scopes { #expect(Scope(rawValue: scope) != nil, "\(scope)") }
    }

    @Test("a key reads its own scopes and accounts")
    func caller() async throws {
        let keys = try KeyFile(
            text: """
                pk_0123456789abcdef0123 role=support account=acme name=desk
                pk_all_of_it_0123456789 name=boss
                """
        )
        try await LiveAPI.run(keys: keys) { api in
            let bound = try await api.get(
                "/v1/caller",
                headers: ["Authorization": "Bearer pk_0123456789abcdef0123"]
            )
            #expect(bound.json["name"] as? String == "desk")
            #expect(bound.json["accounts"] as? [String] == ["acme"])
            let expected = KeyRole.support.scopes.filter { !$0.isOfCluster }.map(\.rawValue)
            #expect(bound.json["scopes"] as? [String] == expected.sorted())
            let free = try await api.get(
                "/v1/caller",
                headers: ["Authorization": "Bearer pk_all_of_it_0123456789"]
            )
            #expect(free.json["accounts"] == nil)
            #expect((free.json["scopes"] as? [String])?.count == Scope.allCases.count)
            #expect(try await api.get("/v1/caller").status == 401)
        }
    }
}
