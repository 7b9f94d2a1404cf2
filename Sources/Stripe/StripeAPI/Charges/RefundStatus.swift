/// The state of a refund.
public struct RefundStatus: OpenValue {
    /// On its way.
    public static let pending = Self(rawValue: "pending")

    /// The customer must say where it should go.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// Sent.
    public static let succeeded = Self(rawValue: "succeeded")

    /// It came back; the money is yours again.
    public static let failed = Self(rawValue: "failed")

    /// Given up.
    public static let canceled = Self(rawValue: "canceled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "requires_action", "succeeded", "failed", "canceled",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
