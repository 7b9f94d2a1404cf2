package import PollerIdentity
package import StandardWebhooks

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

/// A key that signs webhooks (`SigningKey`), checked as it comes from outside.
package struct WebhookSecret: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    private let key: SigningKey

    /// The secret as customers configure it; shown once, never logged.
    package var reveal: String { key.reveal }
    /// How it signs.
    package var signing: WebhookSigning { key.signing }
    /// `whpk_…`, with which anybody checks signatures and nobody makes any; nil of HMAC.
    package var publicKey: String? { key.publicKey }

    /// Reads a secret.
    package init(_ text: String) throws(InvalidInput) {
        guard let key = SigningKey(text) else {
            throw InvalidInput(field: "webhook_secret", message: SigningKey.rule)
        }
        self.key = key
    }

    /// Makes a new secret.
    package init(
        using chance: inout some RandomNumberGenerator,
        signing: WebhookSigning = .hmac
    ) {
        key = SigningKey(using: &chance, signing: signing)
    }

    /// The secret of a key of 24–64 bytes.
    init(key bytes: [UInt8]) {
        key = SigningKey(bytes: bytes)
    }

    package var description: String { "\(key)" }

    package var debugDescription: String { description }

    /// The signature of one attempt (`SigningKey`).
    package func signature(id: EventID, timestamp: Int64, body: String) -> String {
        key.signature(id: id.description, timestamp: timestamp, body: body)
    }
}
