import Foundation
import StripeAPI
import Testing

@Suite struct DecodingTests {
    private func response(_ body: Data) -> StripeResponse {
        StripeResponse(
            status: 200,
            headers: StripeHeaders(requestID: "req_1", contentType: "application/json"),
            body: body
        )
    }

    private func source(_ text: String) throws -> Source {
        try response(Data(text.utf8)).decode(Source.self)
    }

    @Test(
        "every example source decodes",
        arguments: [
            ("three_d_secure", SourceFlow.redirect, SourceStatus.pending),
            ("bancontact", .redirect, .pending), ("card", .none, .chargeable),
            ("sepa_debit", .none, .chargeable), ("multibanco", .receiver, .pending),
            ("wechat", .none, .pending), ("sofort", .redirect, .pending),
            ("alipay", .redirect, .pending),
        ]
    )
    func examples(type: String, flow: SourceFlow, status: SourceStatus) throws {
        let source = try response(Fixture.object("source_examples", "sources", type))
            .decode(Source.self)
        #expect(source.type.rawValue == type)
        #expect(source.type.isKnown)
        #expect(source.flow == flow)
        #expect(source.status == status)
        #expect(source.clientSecret?.rawValue.hasPrefix("src_") == true)
        #expect(source.details != nil)
        #expect((source.redirect != nil) == (flow == .redirect || type == "multibanco"))
        #expect((source.receiver != nil) == (flow == .receiver))
        #expect((source.verification?.attemptsRemaining == 5) == (type == "sepa_debit"))
    }

    @Test(
        "objects of both recorded API versions decode",
        arguments: ["resources", "resources_2022"]
    )
    func resources(file: String) throws {
        let source = try response(Fixture.object(file, "resources", "source")).decode(Source.self)
        #expect(source.receiver?.address == "121042882-38381234567890123")
        let intent = try response(Fixture.object(file, "resources", "payment_intent"))
            .decode(PaymentIntent.self)
        #expect(intent.status == .requiresPaymentMethod)
        #expect(intent.amount == 1099)
        let charge = try response(Fixture.object(file, "resources", "charge")).decode(Charge.self)
        #expect(charge.status == .succeeded)
        let event = try response(Fixture.object(file, "resources", "event"))
            .decode(StripeEvent.self)
        #expect(event.objectID?.isEmpty == false)
    }

    @Test("known values match in any letter case, unknown values are kept")
    func words() throws {
        let loud = try source(
            #"{"id":"src_1","type":"IDEAL","status":"Chargeable","livemode":false}"#
        )
        #expect(loud.status == .chargeable)
        #expect(loud.type == .ideal)
        let new = try source(
            #"{"id":"src_1","type":"HoloPay","status":"half_Done","livemode":true,"HoloPay":{"a":[1,2.5,null]}}"#
        )
        #expect(new.status.rawValue == "half_Done")
        #expect(!new.status.isKnown)
        #expect(new.details == .other(["a": [1, .number(2.5), .null]]))
    }

    @Test("code_verification is decoded under both of its names")
    func verification() throws {
        for name in ["code_verification", "verification"] {
            let source = try source(
                """
                {"id":"src_1","type":"ach_debit","status":"pending","livemode":false,
                "\(name)":{"status":"pending","attempts_remaining":2}}
                """
            )
            #expect(source.verification?.attemptsRemaining == 2)
        }
    }

    @Test(
        "a field of the wrong type is an error that names the field and shows no value",
        arguments: [
            (#""status":7"#, "status"), (#""status":null"#, "status"), (#""id":[]"#, "id"),
            (#""livemode":"yes""#, "livemode"), (#""amount":"1099""#, "amount"),
            (#""amount":10.5"#, "amount"), (#""amount":99999999999999999999"#, "amount"),
            (#""owner":"s3cret""#, "owner"), (#""metadata":{"k":1}"#, "metadata.k"),
            (#""redirect":{"url":1,"return_url":"s3cret","status":"pending"}"#, "redirect.url"),
        ]
    )
    func wrongTypes(field: String, name: String) throws {
        var members = [
            #""id":"src_1""#, #""type":"ideal""#, #""status":"pending""#, #""livemode":false"#,
        ]
        members.removeAll { $0.hasPrefix(field.prefix { $0 != ":" }) }
        let error = #expect(throws: StripeError.self) {
            try source("{" + (members + [field]).joined(separator: ",") + "}")
        }
        guard case .malformed(let body) = error else { return fail("\(String(describing: error))") }
        #expect(body.field == name)
        #expect(body.requestID == "req_1")
        #expect(!"\(body)".contains("s3cret"))
    }

    @Test(
        "a body that is not a JSON object is malformed as a whole",
        arguments: ["", "{", "<html>", "[]", "nul", "{\"id\":\"src_1\"", "\u{0}", "\"src_1\""]
    )
    func notJSON(text: String) {
        let error = #expect(throws: StripeError.self) { try source(text) }
        guard case .malformed(let body) = error else { return fail("\(String(describing: error))") }
        #expect(body.field == nil)
    }

    @Test("unlimited nesting is an error, not a crash")
    func nesting() {
        let deep =
            #"{"id":"src_1","type":"ideal","status":"pending","livemode":false,"ideal":"#
            + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}"
        #expect(throws: StripeError.self) { try source(deep) }
    }

    @Test("a JSON body with a text content type is rejected")
    func contentType() {
        let labelled = StripeResponse(
            status: 200,
            headers: StripeHeaders(contentType: "text/html; charset=utf-8"),
            body: Data(#"{"id":"src_1","type":"ideal","status":"pending","livemode":false}"#.utf8)
        )
        #expect(throws: StripeError.self) { try labelled.decode(Source.self) }
    }

    @Test(
        "an error response keeps status, code and request ID, and may have any body"
    )
    func errors() {
        let body = #"{"error":{"type":"card_error","code":"card_declined","message":"No, Jenny."}}"#
        let headers = StripeHeaders(requestID: "req_9", shouldRetry: false)
        let declined = StripeResponse(status: 402, headers: headers, body: Data(body.utf8)).failure
        #expect(declined.error?.type == .cardError)
        #expect(declined.description == "HTTP 402 card_error card_declined (request req_9)")
        let proxy = StripeResponse(status: 502, headers: headers, body: Data("<html>".utf8)).failure
        #expect(proxy.error == nil)
        #expect(proxy.status == 502)
    }

    @Test("secrets are never printed")
    func redaction() throws {
        let key = StripeKey(" sk_test_4eC39HqLyjWDarjtT1zdp7dc\n")
        let secret = ClientSecret(rawValue: "src_client_secret_abc")
        let configuration = StripeClientConfiguration(key: key)
        var printed = "\(key) \(secret) \(configuration) \(String(reflecting: configuration))"
        dump(StripeClient(configuration: configuration), to: &printed)
        dump(secret, to: &printed)
        let source = try response(Fixture.object("source_examples", "sources", "bancontact"))
            .decode(Source.self)
        printed += "\(source)"
        dump(source, to: &printed)
        #expect(!printed.contains("4eC39HqLyjWDarjtT1zd"))
        #expect(!printed.contains("src_client_secret"))
        #expect(key.description == "secret key …p7dc")
    }
}
