/// Which limiter has answered 429: the value of `Stripe-Rate-Limited-Reason`.
///
/// | reason | who must slow down |
/// |---|---|
/// | `global-rate`, `global-concurrency` | all requests of the account |
/// | `endpoint-rate`, `endpoint-concurrency` | the requests to this endpoint, whatever object they name |
/// | `resource-specific` | the requests for this object |
///
/// A 429 because another request holds the object (`lock_timeout`) has no reason.
/// *Source*: <https://docs.stripe.com/rate-limits>, read at API version `2026-10-28.endive`.
public struct StripeLimitReason: OpenEnum {
    /// Too many requests a second of the account.
    public static let globalRate = Self(rawValue: "global-rate")

    /// Too many requests of the account at once.
    public static let globalConcurrency = Self(rawValue: "global-concurrency")

    /// Too many requests a second to the endpoint.
    public static let endpointRate = Self(rawValue: "endpoint-rate")

    /// Too many requests to the endpoint at once.
    public static let endpointConcurrency = Self(rawValue: "endpoint-concurrency")

    /// Too many requests for one object, such as 1,000 updates of a PaymentIntent in an hour.
    public static let resourceSpecific = Self(rawValue: "resource-specific")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "global-rate", "global-concurrency", "endpoint-rate", "endpoint-concurrency",
        "resource-specific",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
