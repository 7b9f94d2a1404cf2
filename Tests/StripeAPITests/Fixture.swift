import Foundation
import Testing

/// Example objects from Stripe's documentation, SDKs and OpenAPI specification, loaded from `Fixtures`.
enum Fixture {
    static func data(_ name: String) throws -> Data {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Fixtures"
        )
        return try Data(contentsOf: folder.appending(path: name + ".json"))
    }

    /// Returns one object of a file, by group and key, as JSON.
    static func object(_ name: String, _ group: String, _ key: String) throws -> Data {
        let root = try JSONSerialization.jsonObject(with: data(name)) as? [String: Any]
        let objects = root?[group] as? [String: Any]
        return try JSONSerialization.data(withJSONObject: objects?[key] as Any)
    }
}

/// A `Stripe-Signature` header and the verdict of stripe-python 16.1.0.
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
