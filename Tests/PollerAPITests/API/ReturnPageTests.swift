import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("The return page")
struct ReturnPageTests {
    static let secret = "src_1_secret_abc"

    /// Runs `body` with a watch whose secret is known.
    func run(
        _ source: String = "src_1",
        _ body: (LiveAPI) async throws -> Void
    ) async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys) { api in
            let id = try SourceID(source)
            let kind = try #require(SourceKind(inferredFrom: id))
            let new = try NewWatch(
                key: WatchKey(account: .main, source: id, kind: kind),
                clientSecret: ClientSecret(Self.secret)
            )
            _ = try await api.store.enqueue([new])
            try await body(api)
        }
    }

    /// Presents the secret and returns the cookie.
    func arrive(_ api: LiveAPI, _ source: String = "src_1") async throws -> String {
        let answer = try await api.fetch("/r/\(source)?client_secret=\(Self.secret)")
        #expect(answer.status == 303)
        let cookie = try #require(answer.headers.first(name: "Set-Cookie"))
        return String(cookie.prefix { $0 != ";" })
    }

    @Test("the landing redirects to a URL without the secret, and sets a cookie")
    func landing() async throws {
        try await run { api in
            let answer = try await api.fetch(
                "/r?source=src_1&client_secret=\(Self.secret)&livemode=false"
                    + "&redirect_status=succeeded"
            )
            #expect(answer.status == 303)
            #expect(answer.headers.first(name: "Location") == "/r/src_1")
            #expect(answer.headers.first(name: "Referrer-Policy") == "no-referrer")
            #expect(answer.headers.first(name: "Cache-Control") == "no-store")
            let cookie = try #require(answer.headers.first(name: "Set-Cookie"))
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"))
            #expect(cookie.contains("Path=/; Max-Age=1800"))
            #expect(!cookie.contains("secret") && !cookie.contains("Secure"), "loopback has no TLS")
            let snapshot = try await api.store.snapshot(
                of: WatchKey(account: .main, source: SourceID("src_1"), kind: .source)
            )
            #expect(snapshot?.watch.hintedAt != nil, "a return is a hint")
        }
    }

    @Test("on a public host, the cookie has the `__Host-` prefix and `Secure`")
    func secureCookie() async throws {
        try await run { api in
            let answer = try await api.fetch(
                "/r/src_1?client_secret=\(Self.secret)",
                headers: ["Host": "pay.example"]
            )
            let cookie = try #require(answer.headers.first(name: "Set-Cookie"))
            #expect(cookie.hasPrefix("__Host-return-") && cookie.contains("; Secure"))
            let name = cookie.prefix { $0 != ";" }
            let page = try await api.fetch(
                "/r/src_1",
                headers: ["Host": "pay.example", "Cookie": "a=b; \(name)"]
            )
            #expect(page.status == 200)
        }
    }

    @Test("a wrong or missing secret, an unknown payment and a forged cookie get the same 404")
    func neutral() async throws {
        try await run { api in
            let cookie = try await arrive(api)
            var pages: [String] = []
            for path in [
                "/r/src_1?client_secret=wrong", "/r/src_1?client_secret=", "/r/src_1",
                "/r/src_2?client_secret=\(Self.secret)", "/r", "/r?source=src_1",
                "/r/nonsense?client_secret=\(Self.secret)", "/r/ep_1",
                "/r/src_1?n=-1&x=%3Cscript%3E",
            ] {
                let page = try await api.fetch(path)
                #expect(page.status == 404, "\(path)")
                #expect(page.headers.first(name: "Set-Cookie") == nil)
                pages.append(page.text)
            }
            #expect(Set(pages).count == 1)
            #expect(try await api.fetch("/r/src_2", headers: ["Cookie": cookie]).status == 404)
            let forged = cookie.dropLast(2) + "AA"
            #expect(
                try await api.fetch("/r/src_1", headers: ["Cookie": "\(forged)"]).status == 404
            )
            #expect(try await api.fetch("/r/src_1/state").status == 404)
        }
    }

    @Test("`redirect_status` is ignored, and the page shows the polled status")
    func truth() async throws {
        try await run { api in
            let answer = try await api.fetch(
                "/r/src_1?client_secret=\(Self.secret)&redirect_status=succeeded"
            )
            let cookie = try #require(answer.headers.first(name: "Set-Cookie")).prefix { $0 != ";" }
            let page = try await api.fetch("/r/src_1", headers: ["Cookie": "\(cookie)"]).text
            #expect(page.contains(#"data-state="confirming""#))
            #expect(!page.contains(Self.secret))
            try await api.see("src_1", "failed", final: true)
            let failed = try await api.fetch("/r/src_1", headers: ["Cookie": "\(cookie)"]).text
            #expect(failed.contains(#"data-state="failed""#))
            #expect(!failed.contains("http-equiv"), "a final page is not loaded again")
        }
    }

    @Test("without scripts, the page reloads up to a limit, and later shows that it takes longer")
    func withoutScript() async throws {
        try await run { api in
            let cookie = try await arrive(api)
            let first = try await api.fetch("/r/src_1", headers: ["Cookie": cookie]).text
            #expect(first.contains(#"content="4;url=/r/src_1?n=1""#))
            let later = try await api.fetch("/r/src_1?n=3", headers: ["Cookie": cookie]).text
            #expect(later.contains(#"data-state="waiting""#))
            let last = try await api.fetch("/r/src_1?n=150", headers: ["Cookie": cookie]).text
            #expect(!last.contains("http-equiv"), "not for ever")
        }
    }

    @Test("a state request waits for the next change, and gets 304 without one")
    func update() async throws {
        try await run { api in
            let cookie = try await arrive(api)
            async let waited = api.fetch(
                "/r/src_1/state?after_seq=0&wait=20s",
                headers: ["Cookie": cookie]
            )
            try await api.see("src_1", "chargeable")
            let update = try await waited
            #expect(update.status == 200)
            #expect(update.text.contains(#""state":"authorised""#))
            #expect(update.text.contains(#""done":false"#) && update.text.contains(#""seq":1"#))
            let none = try await api.fetch(
                "/r/src_1/state?after_seq=1",
                headers: ["Cookie": cookie]
            )
            #expect(none.status == 304)
        }
    }

    @Test("the policy allows only the page's own style and script, and the page loads nothing else")
    func policy() async throws {
        try await run { api in
            let page = try await api.fetch("/r/src_1")
            let policy = try #require(page.headers.first(name: "Content-Security-Policy"))
            #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(page.headers.first(name: "X-Robots-Tag") == "noindex")
            for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
                let parts = page.text.components(separatedBy: "<\(tag)>")
                let text = try #require(parts.last?.components(separatedBy: "</\(tag)>").first)
                let digest = Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
                #expect(policy.contains("\(directive) 'sha256-\(digest)'"))
            }
            for wrong in ["src=", "@import", "url(", "innerHTML", "http://", "https://", "{{"] {
                #expect(!page.text.contains(wrong), "\(wrong)")
            }
            #expect(page.text.utf8.count < 30_000)
        }
    }

    @Test("an unavailable store gets a 503 page that reloads")
    func outage() async throws {
        try await run { api in
            let cookie = try await arrive(api)
            api.plan.setDown(true)
            let page = try await api.fetch("/r/src_1", headers: ["Cookie": cookie])
            #expect(page.status == 503)
            #expect(page.headers.first(name: "Retry-After") == "5")
            #expect(page.text.contains("http-equiv"))
        }
    }

    @Test("the outage page has the shop's name, colour, link and language")
    func brandedOutage() async throws {
        let shop = try Branding(
            name: "Acme Books",
            homeURL: "https://acme.example/",
            colour: "#0a6b3d",
            languageTag: "de"
        )
        let acme = AccountID(unchecked: "acme")
        try await LiveAPI.run(branding: [acme: shop]) { api in
            api.plan.setDown(true)
            for path in ["/r/src_1?account=acme", "/r/src_1/continue?account=acme"] {
                let page = try await api.fetch(path)
                #expect(page.status == 503)
                #expect(
                    page.text.contains("Acme Books") && page.text.contains("#0a6b3d"),
                    "\(path)"
                )
                #expect(page.text.contains("https://acme.example/"))
                #expect(page.text.contains(#"lang="de""#))
            }
            let plain = try await api.fetch("/r/src_1")
            #expect(plain.status == 503 && !plain.text.contains("Acme"))
        }
    }

    @Test("a PaymentIntent has a page that shows the state for its status")
    func intents() async throws {
        for (status, final, state) in [
            ("succeeded", true, "confirmed"), ("processing", false, "confirming"),
            ("canceled", true, "expired"), ("requires_capture", false, "authorised"),
        ] {
            try await run("pi_1") { api in
                let cookie = try await arrive(api, "pi_1")
                try await api.see("pi_1", status, final: final)
                let page = try await api.fetch("/r/pi_1", headers: ["Cookie": cookie]).text
                #expect(page.contains(#"data-state="\#(state)""#), "\(status)")
            }
        }
    }

    @Test("no page confirms a payment before it is paid", arguments: 0..<40)
    func confirmed(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            var payment = PaymentWalk(using: &generator)
            while payment.next(using: &generator) != nil {
                let update = ReturnUpdate(payment.snapshot, isFirst: false, in: .in(.en))
                let isConfirmed =
                    update.payerMessage.title == "Payment confirmed"
                    || update.payerMessage.text.contains("We have received")
                #expect(payment.isPaid || !isConfirmed, "\(generator): \(payment.snapshot)")
            }
        }
    }

    @Test("a consumed source of a late-settling method is processing, not confirmed")
    func processing() async throws {
        for (method, state) in [("ideal", "confirmed"), ("sofort", "processing")] {
            try await run { api in
                let cookie = try await arrive(api)
                try await api.see("src_1", "consumed", final: true, method: method)
                let page = try await api.fetch("/r/src_1", headers: ["Cookie": cookie]).text
                #expect(page.contains(#"data-state="\#(state)""#), "\(method)")
            }
        }
    }

    @Test("branding needs a name and an HTTPS link, and its text is escaped")
    func branding() throws {
        #expect(throws: InvalidInput.self) { try Branding(name: "") }
        #expect(throws: InvalidInput.self) {
            try Branding(name: "Shop", homeURL: "javascript:alert(1)")
        }
        #expect(throws: InvalidInput.self) {
            try Branding(name: "Shop", homeURL: "http://shop.example")
        }
        _ = try Branding(name: "Shop", homeURL: "https://shop.example/orders?a=1&b=2")
        #expect(HTMLText.escaped(#"<a href="x">'&"#) == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;")
    }
}
