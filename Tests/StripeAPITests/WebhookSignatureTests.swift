import Foundation
import StripeAPI
import Testing

@Suite struct WebhookSignatureTests {
    @Test("every verdict matches the official SDK", arguments: try WebhookVector.all())
    func verdict(vector: WebhookVector) {
        let result = Result { () throws(WebhookSignatureError) in
            try WebhookSignature.verify(
                payload: vector.payload,
                header: vector.header,
                secret: vector.secret,
                tolerance: vector.tolerance.map { .seconds($0) },
                now: vector.now
            )
        }
        switch (result, vector.verdict) {
        case (.success, "valid"): break
        case (.failure(let error), "SignatureVerificationError"):
            #expect(error.matches(vector.message ?? ""), "refused as \(error)")
        default:
            Issue.record("\(result), expected \(vector.verdict)")
        }
    }

    @Test("there are 32 vectors")
    func count() throws {
        #expect(try WebhookVector.all().count == 32)
    }

    @Test("a header verifies only for its own body, secret and time")
    func roundTrip() throws {
        let body = Data(#"{"id":"evt_1"}"#.utf8)
        let header = WebhookSignature.header(payload: body, secret: "whsec_a", timestamp: 1000)
        try WebhookSignature.verify(payload: body, header: header, secret: "whsec_a", now: 1300)
        #expect(throws: WebhookSignatureError.noMatch) {
            try WebhookSignature.verify(
                payload: body + Data(" ".utf8),
                header: header,
                secret: "whsec_a",
                now: 1000
            )
        }
        #expect(throws: WebhookSignatureError.noMatch) {
            try WebhookSignature.verify(payload: body, header: header, secret: "whsec_b", now: 1000)
        }
        #expect(throws: WebhookSignatureError.tooOld(timestamp: 1000)) {
            try WebhookSignature.verify(payload: body, header: header, secret: "whsec_a", now: 1301)
        }
    }

    @Test(
        "malformed headers are rejected without a crash",
        arguments: [
            "t=", "t=99999999999999999999,v1=a", "=,=", ",,,", "t=1,v1", "v1=a", "t==1,v1=a",
            "t=1=2,v1==", String(repeating: "v1=a,", count: 10_000) + "t=1",
            "t=\(Int64.min),v1=a", "t=1\u{0},v1=a",
        ]
    )
    func hostile(header: String) {
        #expect(throws: WebhookSignatureError.self) {
            try WebhookSignature.verify(
                payload: Data(),
                header: header,
                secret: "whsec_a",
                now: .min + 5
            )
        }
    }
}

extension WebhookSignatureError {
    /// Returns whether the official SDK's message has the same meaning.
    func matches(_ message: String) -> Bool {
        switch self {
        case .missingHeader: message.hasPrefix("No Stripe-Signature header value")
        case .missingSecret: message.hasPrefix("No webhook secret value")
        case .malformedHeader: message.hasPrefix("Unable to extract timestamp and signatures")
        case .noSignature: message.hasPrefix("No signatures found with expected scheme")
        case .noMatch: message.hasPrefix("No signatures found matching")
        case .tooOld(let timestamp): message.contains("tolerance zone (\(timestamp))")
        }
    }
}
