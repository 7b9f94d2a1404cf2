import NIOHTTP1
import PollerHTTP
import PollerNet
import Testing

@Suite("HostField")
struct HostFieldTests {
    private func isInvalid(_ hosts: [String], version: HTTPVersion = .http1_1) -> Bool {
        var head = HTTPRequestHead(version: version, method: .GET, uri: "/")
        for host in hosts { head.headers.add(name: "HOST", value: host) }
        return HostField.isInvalid(head)
    }

    @Test(
        "a single valid host is accepted",
        arguments: [
            "localhost", "localhost:8080", "shop.example", "127.0.0.1:80", "[::1]:8080",
            "poller_api-1:8080", "xn--bcher-kva.example",
        ]
    )
    func valid(host: String) {
        #expect(!isInvalid([host]))
        #expect(!isInvalid([host], version: .http1_0))
        #expect(isInvalid([host, host]))
        #expect(isInvalid([host, host], version: .http1_0))
    }

    @Test("a missing host is valid in HTTP/1.0 only")
    func missing() {
        #expect(isInvalid([]))
        #expect(!isInvalid([], version: .http1_0))
    }

    @Test(
        "a value that is not a host is invalid",
        arguments: ["", ":80", "a b", "user@host", "host/path", "a,b c", "bücher.example", "a\tb"]
    )
    func invalid(host: String) {
        #expect(isInvalid([host]))
    }
}

@Suite("WebOrigin")
struct WebOriginTests {
    @Test(
        "a page has the same origin as the host that served it",
        arguments: [
            ("http://localhost:8080", "localhost:8080"), ("http://LOCALHOST", "localhost:80"),
            ("https://gw.example", "gw.example"), ("https://gw.example:443", "GW.example"),
            ("http://[::1]:8080", "[::1]:8080"),
        ]
    )
    func same(origin: String, host: String) throws {
        let origin = try #require(WebOrigin(origin))
        #expect(origin.isServed(at: host, isSecure: nil))
    }

    @Test(
        "a page of another host, port or scheme has another origin",
        arguments: [
            ("http://localhost:3000", "localhost:8080"), ("http://127.0.0.1", "localhost"),
            ("http://evil.example", "localhost"), ("http://localhost", "localhost:8080"),
            ("https://localhost", "localhost:80"), ("http://localhost:", "localhost:8080"),
        ]
    )
    func other(origin: String, host: String) {
        #expect(WebOrigin(origin)?.isServed(at: host, isSecure: nil) != true)
    }

    @Test("the scheme is compared if the server knows its own")
    func scheme() throws {
        let plain = try #require(WebOrigin("http://localhost:8080"))
        #expect(plain.isServed(at: "localhost:8080", isSecure: false))
        #expect(!plain.isServed(at: "localhost:8080", isSecure: true))
    }

    @Test(
        "other texts are not origins",
        arguments: [
            "null", "", "localhost", "file://", "http://", "http://a/b", "http://u@a", "http://a:b",
            "http://a:99999", "http://[::1", "ws://a",
        ]
    )
    func invalid(text: String) {
        #expect(WebOrigin(text) == nil)
    }
}
