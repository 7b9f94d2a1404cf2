import Foundation
import StripeAPI
import Testing

/// Complete objects: round trips of every fixture, and every field of the specification.
@Suite struct ObjectTests {
    private static let types = [
        "ach_credit_transfer", "ach_debit", "acss_debit", "alipay", "au_becs_debit", "bancontact",
        "card", "card_present", "eps", "giropay", "ideal", "klarna", "multibanco", "p24",
        "sepa_debit", "sofort", "three_d_secure", "wechat",
    ]

    /// Decodes and encodes an object, and compares the result with the input.
    private func roundTrip<Object: StripeObject>(_ type: Object.Type, _ json: Data) throws {
        let object = try JSONDecoder().decode(type, from: json)
        let before = try JSONDecoder().decode(JSONValue.self, from: json)
        let after = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(object))
        #expect(before == after)
        #expect(object.allResponseFields == before)
        let again = try JSONDecoder().decode(type, from: JSONEncoder().encode(object))
        #expect(again == object)
    }

    @Test("every object of both recorded API versions survives a round trip")
    func resources() throws {
        for file in ["resources", "resources_2022"] {
            let object = { try Fixture.object(file, "resources", $0) }
            try roundTrip(Source.self, object("source"))
            try roundTrip(PaymentIntent.self, object("payment_intent"))
            try roundTrip(SetupIntent.self, object("setup_intent"))
            try roundTrip(Charge.self, object("charge"))
            try roundTrip(StripeEvent.self, object("event"))
        }
        let object = { try Fixture.object("resources", "resources", $0) }
        try roundTrip(Refund.self, object("refund"))
        try roundTrip(MandateNotification.self, object("source_mandate_notification"))
        try roundTrip(WebhookEndpoint.self, object("webhook_endpoint"))
    }

    @Test(
        "every example source survives a round trip",
        arguments: [
            "three_d_secure", "bancontact", "card", "sepa_debit", "multibanco", "wechat", "sofort",
            "alipay",
        ]
    )
    func examples(name: String) throws {
        try roundTrip(Source.self, Fixture.object("source_examples", "sources", name))
    }

    @Test("unknown values and fields are kept at any depth")
    func unknown() throws {
        try roundTrip(
            Source.self,
            Data(
                """
                {"id":"src_1","type":"HoloPay","status":"half_Done","livemode":true,"flow":"Beam",
                "usage":"twice","HoloPay":{"a":[1,2.5,null,{"b":true}]},"new":{"x":9007199254740993},
                "redirect":{"return_url":"a","url":"b","status":"lost","eta":5},
                "owner":{"name":"J","shoe_size":43}}
                """.utf8
            )
        )
    }

    @Test("each type's details have every field of the specification", arguments: types)
    func details(type: String) throws {
        let properties = try properties(of: "source_type_" + type)
        let hash = try JSONSerialization.data(withJSONObject: properties)
        let json = """
            {"id":"src_1","type":"\(type)","status":"pending","livemode":false,
            "\(type)":\(String(decoding: hash, as: UTF8.self))}
            """
        let source = try JSONDecoder().decode(Source.self, from: Data(json.utf8))
        let typed = try #require(source.details?.typed)
        let fields = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(typed))
        let missing = Set(properties.keys).subtracting(fields.object?.keys.map { $0 } ?? [])
        #expect(missing.isEmpty)
        #expect("\(typed)".hasSuffix("(redacted)"))
    }

    @Test("the typed fields have the values of the object")
    func fields() throws {
        let intent = try JSONDecoder().decode(
            SetupIntent.self,
            from: Fixture.object("resources", "resources", "setup_intent")
        )
        #expect(intent.status == .requiresPaymentMethod)
        #expect(intent.lastSetupError?.type == .idempotencyError)
        #expect(intent.usage == "off_session")
        let notice = try JSONDecoder().decode(
            MandateNotification.self,
            from: Fixture.object("resources", "resources", "source_mandate_notification")
        )
        #expect(notice.source?.type == .achCreditTransfer)
        #expect(notice.details?["creditor_identifier"]?.string == "TEST42ZZZ0000424242")
        let endpoint = try JSONDecoder().decode(
            WebhookEndpoint.self,
            from: Fixture.object("resources", "resources", "webhook_endpoint")
        )
        #expect(endpoint.status == .enabled)
        #expect(endpoint.enabledEvents == ["charge.failed", "charge.succeeded"])
        let wechat = try JSONDecoder().decode(
            Source.self,
            from: Fixture.object("source_examples", "sources", "wechat")
        )
        #expect(wechat.weChatPayDetails?.iosNativeURL?.hasPrefix("weixin://") == true)
        #expect(wechat.cardDetails == nil)
    }

    @Test("an expandable field has its ID, whether expanded or not")
    func expanded() throws {
        for charge in [#""ch_1""#, #"{"id":"ch_1","object":"charge","amount":5}"#] {
            let json = """
                {"id":"pi_1","status":"succeeded","livemode":false,"latest_charge":\(charge)}
                """
            let intent = try JSONDecoder().decode(PaymentIntent.self, from: Data(json.utf8))
            #expect(intent.latestCharge == "ch_1")
        }
    }

    @Test("an error body is decoded as far as possible")
    func errors() throws {
        let json = """
            {"type":"card_error","code":"card_declined","message":7,"param":null,
            "payment_intent":{"id":"pi_1","object":"payment_intent"},"source":{"id":"src_1"}}
            """
        let error = try JSONDecoder().decode(StripeErrorBody.self, from: Data(json.utf8))
        #expect(error.code == "card_declined")
        #expect(error.message == nil)
        #expect(error.paymentIntent == "pi_1")
        #expect(error.source == "src_1")
    }

    /// Returns a value for each property of a schema.
    private func properties(of schema: String) throws -> [String: Any] {
        let root = try JSONSerialization.jsonObject(with: Fixture.data("source_schema"))
        let schemas = (root as? [String: Any])?["schemas"] as? [String: Any]
        let properties = (schemas?[schema] as? [String: Any])?["properties"] as? [String: Any]
        return try #require(properties).mapValues { property -> Any in
            switch (property as? [String: Any])?["type"] as? String {
            case "integer": 7
            case "boolean": true
            default: "text"
            }
        }
    }
}

extension SourceDetails {
    /// The type-specific details as JSON.
    fileprivate var typed: (any Encodable & RedactedValue)? {
        Mirror(reflecting: self).children.first?.value as? any Encodable & RedactedValue
    }
}
