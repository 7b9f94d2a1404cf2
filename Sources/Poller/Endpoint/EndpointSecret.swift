import Crypto
import Foundation

/// A secret that signs an endpoint's webhooks, and until when.
package struct EndpointSecret: Hashable, Sendable, CustomStringConvertible {
    /// How long an old secret may go on signing after a rotation (Standard Webhooks).
    package static let overlapMax = Duration.seconds(7 * 86_400)

    package let secret: WebhookSecret
    /// Nil as long as no newer one replaces it.
    package let endsAt: Timestamp?
    /// What the request that made it called itself, so that its repeat makes no other.
    package let request: String?

    /// A secret that signs until it is replaced, or until `endsAt`.
    package init(_ secret: WebhookSecret, endsAt: Timestamp? = nil, request: String? = nil) {
        self.secret = secret
        self.endsAt = endsAt
        self.request = request
    }

    /// Whether it signs at this instant.
    package func isLive(at now: Timestamp) -> Bool { endsAt.map { now < $0 } ?? true }

    /// The same secret, signing no longer than until then.
    package func ending(by end: Timestamp) -> EndpointSecret {
        EndpointSecret(secret, endsAt: min(endsAt ?? end, end), request: request)
    }

    package var description: String { "\(secret)" }
}

/// A key that signs webhooks: `whsec_` and base64 of 24–64 bytes (Standard Webhooks).
package struct WebhookSecret: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The secret as customers configure it; shown once, never logged.
    package let reveal: String
    private let key: [UInt8]

    /// Reads a secret.
    package init(_ text: String) throws(InvalidInput) {
        guard text.hasPrefix("whsec_"),
            let key = Data(base64Encoded: String(text.dropFirst(6))), (24...64).contains(key.count)
        else {
            throw InvalidInput(
                field: "webhook_secret",
                message: "must be whsec_ and base64 of 24 to 64 random bytes, "
                    + "as from: echo whsec_$(head -c 32 /dev/urandom | base64)"
            )
        }
        self.key = Array(key)
        reveal = text
    }

    /// Makes a new secret of 32 random bytes, the block of SHA-256's output.
    package init(using chance: inout some RandomNumberGenerator) {
        self.init(key: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &chance) })
    }

    /// The secret of a key of 24–64 bytes.
    init(key: [UInt8]) {
        self.key = key
        reveal = "whsec_" + Data(key).base64EncodedString()
    }

    package var description: String { "whsec_(redacted)" }

    package var debugDescription: String { description }

    /// `v1,<base64 of HMAC-SHA256 over "id.timestamp.body">`, the time in seconds since 1970.
    package func signature(id: EventID, timestamp: Int64, body: String) -> String {
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: key))
        hmac.update(data: Array("\(id).\(timestamp).".utf8))
        hmac.update(data: Array(body.utf8))
        return "v1," + Data(hmac.finalize()).base64EncodedString()
    }
}
