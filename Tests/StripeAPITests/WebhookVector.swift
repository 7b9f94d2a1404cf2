import Foundation
import Testing

/// One `Stripe-Signature` header and the verdict of stripe-python 16.1.0 on it.
struct WebhookVector: Decodable, CustomTestStringConvertible {
    let name: String
    let payload: Data
    let header: String
    let secret: String
    let now: Int64
    let tolerance: Int64?
    let verdict: String
    let message: String?

    var testDescription: String { name }

    private enum CodingKeys: String, CodingKey {
        case name, header, secret, now, tolerance, message
        case payload = "payload_b64"
        case verdict = "verify_header"
    }

    private struct File: Decodable {
        let vectors: [WebhookVector]
    }

    static func all() throws -> [WebhookVector] {
        try JSONDecoder().decode(File.self, from: Fixture.data("webhook_vectors")).vectors
    }
}
