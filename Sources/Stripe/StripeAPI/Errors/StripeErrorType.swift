/// The family of an API error.
public struct StripeErrorType: OpenValue {
    /// Stripe's own fault.
    public static let apiError = Self(rawValue: "api_error")

    /// The payment method was declined.
    public static let cardError = Self(rawValue: "card_error")

    /// An idempotency key was used with other parameters.
    public static let idempotencyError = Self(rawValue: "idempotency_error")

    /// The request is wrong.
    public static let invalidRequestError = Self(rawValue: "invalid_request_error")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "api_error", "card_error", "idempotency_error", "invalid_request_error",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
