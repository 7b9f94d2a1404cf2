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
