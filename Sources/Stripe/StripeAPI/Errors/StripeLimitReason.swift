/// The limiter that returned 429: the value of `Stripe-Rate-Limited-Reason`.
///
/// | reason | affected requests |
/// |---|---|
/// | `global-rate`, `global-concurrency` | all requests of the account |
/// | `endpoint-rate`, `endpoint-concurrency` | the requests to this endpoint, for any object |
/// | `resource-specific` | the requests for this object |
///
/// A 429 for an object that another request has locked (`lock_timeout`) has no reason.
/// *Source*: <https://docs.stripe.com/rate-limits>, read at API version `2026-10-28.endive`.
public struct StripeLimitReason: OpenEnum {
    /// Too many requests of the account per second.
    public static let globalRate = Self(rawValue: "global-rate")

    /// Too many concurrent requests of the account.
    public static let globalConcurrency = Self(rawValue: "global-concurrency")

    /// Too many requests to the endpoint per second.
    public static let endpointRate = Self(rawValue: "endpoint-rate")

    /// Too many concurrent requests to the endpoint.
    public static let endpointConcurrency = Self(rawValue: "endpoint-concurrency")

    /// Too many requests for one object, such as 1,000 updates of a PaymentIntent in an hour.
    public static let resourceSpecific = Self(rawValue: "resource-specific")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "global-rate", "global-concurrency", "endpoint-rate", "endpoint-concurrency",
        "resource-specific",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
