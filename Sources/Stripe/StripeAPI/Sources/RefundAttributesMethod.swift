/// How the details of a refund are asked from the customer of a receiver Source.
public struct RefundAttributesMethod: OpenValue {
    /// Stripe writes to the owner's address.
    public static let email = Self(rawValue: "email")

    /// You ask and set them; `source.refund_attributes_required` tells when.
    public static let manual = Self(rawValue: "manual")

    /// No refunds are possible.
    public static let none = Self(rawValue: "none")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "email", "manual", "none",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
