/// Why a charge is refunded.
public struct RefundReason: OpenValue {
    /// It was charged twice.
    public static let duplicate = Self(rawValue: "duplicate")

    /// The card's owner did not buy.
    public static let fraudulent = Self(rawValue: "fraudulent")

    /// The customer asked for it.
    public static let requestedByCustomer = Self(rawValue: "requested_by_customer")

    /// It was never captured; Stripe's own word.
    public static let expiredUncapturedCharge = Self(rawValue: "expired_uncaptured_charge")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "duplicate", "fraudulent", "requested_by_customer", "expired_uncaptured_charge",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
