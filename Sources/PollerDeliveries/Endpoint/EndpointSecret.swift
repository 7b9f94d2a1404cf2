package import PollerIdentity
package import PollerWatches
package import StandardWebhooks

/// A secret that signs an endpoint's webhooks, and its end.
package struct EndpointSecret: Hashable, Sendable, CustomStringConvertible {
    /// The longest time for which an old secret may sign after a rotation (Standard Webhooks).
    package static let overlapMax = Duration.seconds(7 * 86_400)

    package let secret: WebhookSecret
    /// The end of the secret; `nil` until a newer one replaces it.
    package let endsAt: Timestamp?
    /// The idempotency key of the request that created it, so that a repeat creates no other.
    package let request: String?

    /// Creates a secret that signs until it is replaced, or until `endsAt`.
    package init(_ secret: WebhookSecret, endsAt: Timestamp? = nil, request: String? = nil) {
        self.secret = secret
        self.endsAt = endsAt
        self.request = request
    }

    /// Whether it signs at this instant.
    package func isLive(at now: Timestamp) -> Bool { endsAt.map { now < $0 } ?? true }

    /// Returns the secret with an end no later than `end`.
    package func ending(by end: Timestamp) -> EndpointSecret {
        EndpointSecret(secret, endsAt: min(endsAt ?? end, end), request: request)
    }

    package var description: String { "\(secret)" }
}

/// A key that signs webhooks (`SigningKey`), checked on input.
package struct WebhookSecret: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    private let key: SigningKey

    /// The secret in the form for customers; shown once, never logged.
    package var reveal: String { key.reveal }
    /// The signature algorithm.
    package var signing: WebhookSigning { key.signing }
    /// The public key, `whpk_…`, which can only verify signatures; `nil` for HMAC.
    package var publicKey: String? { key.publicKey }

    /// Parses a secret.
    package init(_ text: String) throws(InvalidInput) {
        guard let key = SigningKey(text) else {
            throw InvalidInput("webhook_secret", SigningKey.rule)
        }
        self.key = key
    }

    package init(
        using generator: inout some RandomNumberGenerator,
        signing: WebhookSigning = .hmac
    ) {
        key = SigningKey(using: &generator, signing: signing)
    }

    /// Creates the secret of a key of 24–64 bytes.
    init(key bytes: [UInt8]) {
        key = SigningKey(bytes: bytes)
    }

    package var description: String { "\(key)" }

    package var debugDescription: String { description }

    /// Returns the signature of one attempt (`SigningKey`).
    package func signature(id: EventID, timestamp: Int64, body: String) -> String {
        key.signature(id: id.description, timestamp: timestamp, body: body)
    }
}
