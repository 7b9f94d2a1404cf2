import PollerDeliveries
import PollerIdentity
import PollerNet
import Testing

@testable import PollerChannels

@Suite("The parts of a webhook")
struct WebhookPartsTests {
    private let now = Timestamp(ms: 784_111_777_000)  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        "Retry-After is read in every form and bounded",
        arguments: [
            ("120", Duration.seconds(120)), ("0", .zero), ("-5", .zero), ("1e12", nil),
            ("1000000000000", .seconds(3600)), ("99999999999999999999999999", .seconds(3600)),
            ("soon", nil), ("", nil), ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)),
            ("Sunday, 06-Nov-94 08:49:47 GMT", .seconds(10)),
            ("Sun Nov  6 08:49:38 1994", .seconds(1)), ("Sun, 06 Nov 1994 08:00:00 GMT", .zero),
            ("Sun, 06 Nov 2094 08:00:00 GMT", .seconds(3600)), ("Sun, 99 Foo 1994 x:y:z GMT", nil),
        ] as [(String, Duration?)]
    )
    func retryAfter(text: String, wait: Duration?) {
        #expect(RetryAfter.parse(text, now: now) == wait)
    }

    @Test("a secret is `whsec_` and 24 to 64 bytes, and is never printed")
    func secrets() throws {
        var generator = SystemRandomNumberGenerator()
        let made = WebhookSecret(using: &generator)
        #expect(try WebhookSecret(made.reveal) == made)
        #expect(!"\(made)".contains(made.reveal.dropFirst(6)))
        #expect(!String(reflecting: made).contains(made.reveal.dropFirst(6)))
        for bad in ["", "whsec_", "whsec_AAAA", "whsec_!!!", made.reveal.dropFirst(6) + ""] {
            #expect(throws: InvalidInput.self) { try WebhookSecret(bad) }
        }
    }

    @Test(
        "hosts that parsers read differently are rejected",
        arguments: [
            "https://a%2eb/", "https://[fe80::1%25eth0]/", "https://[127.0.0.1]/", "https://a:b/",
            "https://a:0/", "https://a:65536/", "https://[::1/", "https://[::1]x/", "https://a:/",
            "https://a|b/",
        ]
    )
    func badHosts(url: String) throws {
        #expect(throws: InvalidInput.self) { try HTTPTarget(NotifyURL(url)) }
    }

    @Test("a URL is requested with its port and without its fragment")
    func targets() throws {
        let target = try HTTPTarget(NotifyURL("https://A.b?x=/#frag"))
        #expect(target.url == "https://a.b:443/?x=/")
        #expect(target.host == "a.b")
        let literal = try HTTPTarget(NotifyURL("http://[::1]:8080/p"))
        #expect(literal.url == "http://[::1]:8080/p")
        #expect(literal.host == "::1")
    }
}
