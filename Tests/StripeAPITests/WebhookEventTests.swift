import Foundation
import StripeAPI
import Testing

@Suite struct WebhookEventTests {
    private static let body = Data(
        """
        {"id":"evt_1","object":"event","type":"source.chargeable","livemode":false,"created":1000,
        "request":{"id":null,"idempotency_key":"k"},"data":{"object":{"id":"src_1"}}}
        """.utf8
    )

    private func construct(
        _ body: Data,
        _ header: String,
        _ secrets: [String] = ["whsec_a"]
    ) throws(WebhookError) -> StripeEvent {
        try WebhookSignature.constructEvent(
            payload: body,
            header: header,
            secrets: secrets,
            now: 1000
        )
    }

    @Test("a signed body becomes its event")
    func event() throws {
        let header = WebhookSignature.header(payload: Self.body, secret: "whsec_a", timestamp: 1000)
        let event = try construct(Self.body, header)
        #expect(event.type == "source.chargeable")
        #expect(event.objectID == "src_1")
        #expect(event.request?.idempotencyKey == "k")
    }

    @Test("either secret will do while one is rolled, on our side or on Stripe's")
    func rolled() throws {
        let old = WebhookSignature.header(payload: Self.body, secret: "whsec_old", timestamp: 1000)
        let new = WebhookSignature.header(payload: Self.body, secret: "whsec_new", timestamp: 1000)
        _ = try construct(Self.body, old, ["whsec_new", "whsec_old"])
        let both = old + "," + new.drop { $0 != "v" }
        _ = try construct(Self.body, both, ["whsec_new"])
        _ = try construct(Self.body, both, ["whsec_old"])
    }

    @Test("an unsigned body is refused unread, a signed one that is no event as malformed")
    func refused() throws {
        #expect(throws: WebhookError.signature(.noMatch)) {
            try construct(Data("{".utf8), "t=1000,v1=00")
        }
        #expect(throws: WebhookError.signature(.missingSecret)) {
            try construct(Self.body, "t=1000,v1=00", [])
        }
        let junk = Data("[]".utf8)
        let header = WebhookSignature.header(payload: junk, secret: "whsec_a", timestamp: 1000)
        let error = #expect(throws: WebhookError.self) { try construct(junk, header) }
        guard case .malformed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("an event of an old API version names its request by the id alone")
    func oldRequest() throws {
        let json =
            #"{"id":"evt_1","type":"t","livemode":true,"request":"req_1","data":{"object":{}}}"#
        let event = try JSONDecoder().decode(StripeEvent.self, from: Data(json.utf8))
        #expect(event.request?.id == "req_1")
    }
}
