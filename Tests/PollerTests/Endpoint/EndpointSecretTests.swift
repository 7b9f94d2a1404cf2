import Crypto
import Foundation
import PollerDeliveries
import PollerIdentity
import PollerTesting
import PollerWatches
import StandardWebhooks
import Testing

@Suite("Webhook signing keys")
struct EndpointSecretTests {
    // *Source*: RFC 8032 §7.1, test 2 (seed and public key).
    private static let seed = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
    private static let publicKey =
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"

    private static func base64(_ hex: String) -> String {
        var bytes: [UInt8] = []
        var rest = hex[...]
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return Data(bytes).base64EncodedString()
    }

    @Test("an Ed25519 key is read with or without its public half, and reports the public half")
    func reading() throws {
        let short = try WebhookSecret("whsk_" + Self.base64(Self.seed))
        let long = try WebhookSecret("whsk_" + Self.base64(Self.seed + Self.publicKey))
        #expect(short == long && short.signing == .ed25519)
        #expect(short.publicKey == "whpk_" + Self.base64(Self.publicKey))
        #expect("\(short)" == "whsk_(redacted)")
        #expect(try WebhookSecret("whsec_" + Self.base64(Self.seed)).publicKey == nil)
        for wrong in [
            "whsk_", "whsk_" + Self.base64(String(Self.publicKey.dropLast(2))),
            "whsk_" + Self.base64(Self.seed + Self.seed), "whpk_" + Self.base64(Self.publicKey),
        ] {
            #expect(throws: InvalidInput.self, "\(wrong)") { try WebhookSecret(wrong) }
        }
    }

    @Test("a signature covers the ID, time and body, and verifies with the public half alone")
    func signature() throws {
        let secret = try WebhookSecret("whsk_" + Self.base64(Self.seed))
        let text = secret.signature(id: EventID(unchecked: "evt_1"), timestamp: 7, body: "{}")
        #expect(text.hasPrefix("v1a,"))
        let signature = try #require(Data(base64Encoded: String(text.dropFirst(4))))
        let shown = try #require(secret.publicKey)
        let key = try Curve25519.Signing.PublicKey(
            rawRepresentation: #require(Data(base64Encoded: String(shown.dropFirst(5))))
        )
        #expect(key.isValidSignature(signature, for: Array("evt_1.7.{}".utf8)))
        #expect(!key.isValidSignature(signature, for: Array("evt_1.8.{}".utf8)))
    }
}
