import Foundation
import NIOHTTP1
import StripeAPI
import Testing

@Suite struct SandboxSourceTests {
    @Test("a source is created pending, read, updated and read again")
    func lifecycle() async throws {
        try await SandboxProbe.run { probe in
            let made = try await probe.makeSource([
                ("metadata[order]", "6"), ("owner[name]", "Zoë"),
            ])
            #expect(made.status == .pending)
            #expect(made.flow == .redirect)
            #expect(made.redirect?.url.hasPrefix(probe.base + "/redirect/" + made.id) == true)
            let modified = try await probe.client()
                .post(
                    "/v1/sources/\(made.id)",
                    form: [("metadata[order]", ""), ("metadata[a]", "b")]
                )
                .decode(Source.self)
            #expect(modified.metadata == ["a": "b"])
            #expect(try await probe.client().retrieveSource(made.id) == modified)
        }
    }

    @Test(
        "authorising makes it chargeable and redirects with the documented parameters"
    )
    func authorise() async throws {
        try await SandboxProbe.run { probe in
            let source = try await probe.makeSource()
            let page = try await probe.send(.GET, "/redirect/\(source.id)")
            let html = String(decoding: page.body, as: UTF8.self)
            #expect(html.contains("Authorise test payment"))
            #expect(html.contains("Fail test payment"))
            #expect(html.contains("10.99 EUR"))
            let secret = try #require(source.clientSecret?.rawValue)
            let expected =
                "https://shop.example/back?order=6&source=\(source.id)&client_secret=\(secret)"
                + "&livemode=false&redirect_status=succeeded#top"
            // A second click changes nothing.
            for _ in 1...2 {
                let reply = try await probe.send(.POST, "/redirect/\(source.id)/authorize")
                #expect(reply.status == 303)
                #expect(reply.headers.first(name: "location") == expected)
            }
            let after = try await probe.client().retrieveSource(source.id)
            #expect(after.status == .chargeable)
            #expect(after.redirect?.status == .succeeded)
            let events = try await probe.client().get("/v1/events")
                .decode(StripeList<StripeEvent>.self)
            #expect(events.data.map(\.type) == ["source.chargeable"])
        }
    }

    @Test("the page of an unknown object or with a wrong secret is not found")
    func unknownPage() async throws {
        try await SandboxProbe.run { probe in
            let source = try await probe.makeSource()
            #expect(try await probe.send(.GET, "/redirect/src_nobody").status == 404)
            #expect(try await probe.send(.POST, "/redirect/src_nobody/authorize").status == 404)
            let wrong = "/redirect/\(source.id)?client_secret=x"
            #expect(try await probe.send(.GET, wrong).status == 404)
        }
    }

    @Test(
        "every type starts with its flow and status",
        arguments: [
            ("bancontact", SourceFlow.redirect, SourceStatus.pending),
            ("giropay", .redirect, .pending),
            ("sofort", .redirect, .pending), ("p24", .redirect, .pending),
            ("eps", .redirect, .pending),
            ("alipay", .redirect, .pending), ("klarna", .redirect, .pending),
            ("multibanco", .receiver, .pending), ("wechat", .none, .pending),
            ("card", .none, .chargeable), ("sepa_debit", .none, .chargeable),
        ]
    )
    func types(type: String, flow: SourceFlow, status: SourceStatus) async throws {
        try await SandboxProbe.run { probe in
            let source = try await probe.client().createSource([
                ("type", type), ("amount", "1099"), ("currency", "eur"),
                ("owner[name]", "Jenny Rosen"), ("owner[email]", "jenny@example.com"),
                ("redirect[return_url]", "https://shop.example/back"),
            ])
            #expect(source.type.rawValue == type)
            #expect(source.flow == flow)
            #expect(source.status == status)
            #expect(source.details != nil)
        }
    }

    @Test(
        "invalid parameters are rejected like at Stripe",
        arguments: [
            ("type", nil, "parameter_missing", "type"),
            ("type", "bitcoin", nil, "type"),
            ("amount", nil, "parameter_missing", "amount"),
            ("amount", "ten", "parameter_invalid_integer", "amount"),
            ("amount", "-5", "parameter_invalid_integer", "amount"),
            ("amount", "99999999999999999999", "parameter_invalid_integer", "amount"),
            ("currency", "usd", "invalid_currency", "currency"),
            ("redirect[return_url]", nil, "parameter_missing", "redirect[return_url]"),
            ("redirect[return_url]", "a\r\nX: y://", "url_invalid", "redirect[return_url]"),
            ("colour", "red", "parameter_unknown", "colour"),
        ] as [(String, String?, String?, String)]
    )
    func invalidParameters(name: String, value: String?, code: String?, param: String) async throws
    {
        try await SandboxProbe.run { probe in
            var form = [
                ("type", "ideal"), ("amount", "1099"), ("currency", "eur"),
                ("redirect[return_url]", "https://shop.example/back"),
            ]
            form.removeAll { $0.0 == name }
            if let value { form.append((name, value)) }
            let fields = form
            let error = await #expect(throws: StripeError.self) {
                try await probe.client().createSource(fields)
            }
            guard case .api(let failure) = error else {
                return fail("\(String(describing: error))")
            }
            #expect(failure.status == 400)
            #expect(failure.error?.type == .invalidRequestError)
            #expect(failure.error?.code == code)
            #expect(failure.error?.param == param)
            #expect(failure.headers.requestID?.hasPrefix("req_") == true)
        }
    }
}
