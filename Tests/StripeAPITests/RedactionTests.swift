import Foundation
import StripeAPI
import Testing

/// Secrets are redacted in descriptions, debug descriptions, dumps and mirrors.
@Suite struct RedactionTests {
    private func printed(_ value: Any) -> String {
        var text = "\(value) \(String(reflecting: value)) "
        dump(value, to: &text)
        return text
    }

    @Test("an object prints its kind, ID and status, and no other field")
    func objects() throws {
        let source = Source.test(
            "pending",
            type: "sepa_debit",
            """
            "owner":{"name":"S3CRET","email":"S3CRET","address":{"line1":"S3CRET"}},
            "sepa_debit":{"mandate_url":"https://x/S3CRET","last4":"3001"},
            "redirect":{"url":"https://x?client_secret=S3CRET","return_url":"a","status":"pending"},
            "metadata":{"a":"S3CRET"},"client_secret":"S3CRET","receiver":{"address":"S3CRET"},
            "new":"S3CRET"
            """
        )
        #expect(source.description == "source src_1 pending")
        let parts: [Any] = [
            source, [source], source.owner as Any, source.redirect as Any,
            source.details as Any, source.sepaDebitDetails as Any, source.receiver as Any,
            source.clientSecret as Any, source.allResponseFields, source.nextStep,
            SourceSnapshot(source: source), SourcePollResult(source: source, end: .timedOut),
        ]
        for part in parts { #expect(!printed(part).contains("S3CRET"), "\(type(of: part))") }
    }

    @Test("parameters, errors, endpoints and clients print no secret")
    func otherValues() throws {
        let key = StripeKey("sk_test_S3CRETS3CRETS3CRET1234")
        let secret = ClientSecret(rawValue: "S3CRET")
        let configuration = StripeClientConfiguration(key: key)
        let client = StripeClient(configuration: configuration)
        let body = #"{"error":{"type":"card_error","code":"c","message":"S3CRET"}}"#
        let failure = StripeResponse(
            status: 402,
            headers: StripeHeaders(requestID: "req_1"),
            body: Data(body.utf8)
        ).failure
        let endpoint = try JSONDecoder().decode(
            WebhookEndpoint.self,
            from: Data(
                #"{"id":"we_1","url":"u","enabled_events":[],"livemode":false,"secret":"S3CRET"}"#
                    .utf8
            )
        )
        #expect(endpoint.secret?.rawValue == "S3CRET")
        let parts: [Any] = [
            client, configuration, key, secret, endpoint, failure, StripeError.api(failure),
            failure.error as Any, SourcePoller(client: client),
            StripeSourceReader(client: client),
            WatchSourceReader(baseURL: "http://h", apiKey: key),
            SourceReadRequest(id: "src_1", clientSecret: secret, timeout: .zero),
            CardParams(number: "S3CRET"), SourceParams.card(CardParams(number: "S3CRET")),
            SourceParams.sepaDebit(name: "S3CRET", iban: "S3CRET"),
            PaymentIntentParams(clientSecret: secret, note: "S3CRET"),
            SourceRefundAttributes.multibanco(holderName: "S3CRET", iban: "S3CRET"),
            RedirectResult(["client_secret": "S3CRET"]),
            ReturnURL("https://x?client_secret=S3CRET") as Any,
        ]
        for part in parts { #expect(!printed(part).contains("S3CRET"), "\(type(of: part))") }
        #expect(StripeError.api(failure).description == "HTTP 402 card_error c (request req_1)")
        #expect(StripeError.api(failure).requestID == "req_1")
    }
}
