import StripeAPI
import Testing

@Suite struct ReturnURLTests {
    @Test(
        "scheme and host match in any case, the path exactly, each registered item by value",
        arguments: [
            ("shop://back", "shop://back", true),
            ("shop://back", "SHOP://Back?source=src_1", true),
            ("https://a.b/C?x=1", "https://A.B/C?y=2&x=1", true),
            ("https://a.b/C?x=1", "https://a.b/c?x=1", false),
            ("https://a.b/C?x=1", "https://a.b/C?x=2", false),
            ("https://a.b/C?x=1", "https://a.b/C", false),
            ("https://a.b/C?x=1", "https://a.b/C?X=1", false),
            ("https://a.b/C?x=1", "https://a.b/C?x=1&x=2", false),
            ("https://a.b/C?x=1", "https://a.b/C?x=2&x=1", true),
            ("https://a.b/C?x", "https://a.b/C?x", true),
            ("https://a.b/C?x", "https://a.b/C?x=1", false),
            ("https://a.b/C", "http://a.b/C", false),
            ("https://a.b/C", "https://a.c/C", false),
            ("https://a.b/C", "https://a.b/C/", false),
        ]
    )
    func matches(registered: String, received: String, isMatch: Bool) throws {
        let registered = try #require(ReturnURL(registered))
        #expect(registered.matches(try #require(ReturnURL(received))) == isMatch)
    }

    @Test("the values added by Stripe are read for every kind of object")
    func result() throws {
        let source = try #require(
            ReturnURL("https://a.b/?client_secret=s&livemode=false&source=src_1&redirect_status=x")
        ).result
        #expect(source.source == "src_1")
        #expect(source.clientSecret?.rawValue == "s")
        #expect(source.livemode == false)
        #expect(source.redirectStatus == "x")
        let intent = try #require(
            ReturnURL("https://a.b/?payment_intent=pi_1&payment_intent_client_secret=pi_1_secret_s")
        ).result
        #expect(intent.paymentIntent == "pi_1")
        #expect(intent.clientSecret?.rawValue == "pi_1_secret_s")
    }
}
