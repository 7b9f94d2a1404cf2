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

    @Test("a signed body is decoded as its event")
    func event() throws {
        let header = WebhookSignature.header(payload: Self.body, secret: "whsec_a", timestamp: 1000)
        let event = try construct(Self.body, header)
        #expect(event.type == "source.chargeable")
        #expect(event.objectID == "src_1")
        #expect(event.request?.idempotencyKey == "k")
    }

    @Test("a thin event is decoded as a notification, not as an event with an object")
    func thin() throws {
        let body = Data(
            """
            {"id":"evt_test_65","object":"v2.core.event","type":"v1.charge.succeeded","livemode":false,
            "created":"2026-11-27T00:00:00.000Z","context":"acct_1","reason":null,
            "related_object":{"id":"ch_1","type":"charge","url":"/v1/charges/ch_1"}}
            """.utf8
        )
        let header = WebhookSignature.header(payload: body, secret: "whsec_a", timestamp: 1000)
        let payload = try WebhookSignature.constructPayload(
            payload: body,
            header: header,
            secrets: ["whsec_a"],
            now: 1000
        )
        guard case .notification(let event) = payload else { return fail("\(payload)") }
        #expect(event.type == "v1.charge.succeeded" && event.context == "acct_1")
        #expect(event.relatedObject?.id == "ch_1" && event.relatedObject?.type == "charge")
        let error = #expect(throws: WebhookError.self) { try construct(body, header) }
        #expect(error.map { "\($0)".contains("constructPayload") } == true)
    }

    @Test("the account of an event is in account, context or user_id")
    func accounts() throws {
        let fields: [(String, KeyPath<StripeEvent, String?>)] = [
            ("account", \.account), ("context", \.context), ("user_id", \.userID),
        ]
        for (field, read) in fields {
            let text = String(decoding: Self.body, as: UTF8.self)
                .replacing(#""created":1000,"#, with: #""created":1000,"\#(field)":"acct_1","#)
            let body = Data(text.utf8)
            let header = WebhookSignature.header(payload: body, secret: "whsec_a", timestamp: 1000)
            let event = try construct(body, header)
            #expect(event[keyPath: read] == "acct_1", "\(field)")
        }
    }

    @Test("with several secrets the matching one determines the error: tooOld, not noMatch")
    func expired() throws {
        let header = WebhookSignature.header(payload: Self.body, secret: "whsec_b", timestamp: 1)
        for secrets in [["whsec_a", "whsec_b"], ["whsec_b", "whsec_a"]] {
            #expect(throws: WebhookError.signature(.tooOld(timestamp: 1))) {
                try construct(Self.body, header, secrets)
            }
        }
    }

    @Test("during a rotation either secret is accepted, on both sides")
    func rolled() throws {
        let old = WebhookSignature.header(payload: Self.body, secret: "whsec_old", timestamp: 1000)
        let new = WebhookSignature.header(payload: Self.body, secret: "whsec_new", timestamp: 1000)
        _ = try construct(Self.body, old, ["whsec_new", "whsec_old"])
        let both = old + "," + new.drop { $0 != "v" }
        _ = try construct(Self.body, both, ["whsec_new"])
        _ = try construct(Self.body, both, ["whsec_old"])
    }

    @Test("an unsigned body is rejected unparsed, a signed non-event is malformed")
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
        guard case .malformed = error else { return fail("\(String(describing: error))") }
    }

    @Test("an event of an old API version has only the ID of its request")
    func oldRequest() throws {
        let json =
            #"{"id":"evt_1","type":"t","livemode":true,"request":"req_1","data":{"object":{}}}"#
        let event = try JSONDecoder().decode(StripeEvent.self, from: Data(json.utf8))
        #expect(event.request?.id == "req_1")
    }
}
