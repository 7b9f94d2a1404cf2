import JSONText
import PollerIdentity
import Testing

@testable import PollerLocalization

@Suite("The shop's return link")
struct ShopReturnLinkTests {
    @Test(
        "an HTTPS page and a screen of the shop's own app are accepted",
        arguments: [
            ("https://shop.example/orders/A77?x=1&y=2#z", true), ("HTTPS://shop.example", true),
            ("acme-shop://orders/A77", false), ("com.acme.shop://A77", false),
        ]
    )
    func addresses(text: String, opensInAnyBrowser: Bool) throws {
        let home = try #require(ShopReturnLink(text))
        #expect(home.url == text && home.opensInAnyBrowser == opensInAnyBrowser)
    }

    @Test(
        "executable, local, unencrypted and malformed links are rejected",
        arguments: [
            "javascript://%0aalert(1)", "JavaScript://x", "data://text/html,x",
            "file:///etc/passwd",
            "http://shop.example", "vbscript://x", "blob://x", "view-source://x", "intent://x",
            "shop.example/orders", "://x", "https://", "1shop://x", "a b://x", "https://x/\"onx=",
            "https://x/<b>", "https://x/\n", "https://shöp.example", "javascript:alert(1)", "",
            "https://x/" + String(repeating: "a", count: 2048),
        ]
    )
    func refused(text: String) {
        #expect(ShopReturnLink(text) == nil)
    }

    @Test("a shop sets the link of one payment with `return_url`")
    func metadata() throws {
        func home(_ json: String) throws -> String? {
            let metadata = try #require(RawJSON(json))
            let object = UpstreamObject(nil)
            return Purchase(metadata: metadata, object: object, branding: nil, kind: .source)
                .returnLink?
                .url
        }
        #expect(try home(#"{"return_url":"acme://A77"}"#) == "acme://A77")
        #expect(try home(#"{"return_url":"javascript:x"}"#) == nil)
        #expect(try home(#"{"return_url":7}"#) == nil)
        #expect(try home(#"{"order":"A77"}"#) == nil)
    }
}
