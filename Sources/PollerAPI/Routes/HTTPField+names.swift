import HTTPTypes

extension HTTPField.Name {
    /// The id of the request, on every answer.
    static let requestID = Self.known("X-Request-Id")
    /// The client's own id of a request it may repeat.
    static let idempotencyKey = Self.known("Idempotency-Key")
    /// What proves that a body is Stripe's.
    static let stripeSignature = Self.known("Stripe-Signature")

    /// Which address a page tells the pages it links to.
    static let referrerPolicy = Self.known("Referrer-Policy")

    /// What search engines may do with a page.
    static let robotsTag = Self.known("X-Robots-Tag")

    /// The second `Host` and further ones; the first one is the request's authority.
    static let otherHost = Self.known("Host")

    private static func known(_ name: String) -> Self {
        guard let name = Self(name) else {
            preconditionFailure("the names here are tokens of RFC 9110 §5.6.2")
        }
        return name
    }
}
