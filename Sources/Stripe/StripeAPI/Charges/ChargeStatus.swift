/// The state of a Charge.
public struct ChargeStatus: OpenValue {
    /// The bank has not answered yet.
    public static let pending = Self(rawValue: "pending")

    /// Paid.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Declined.
    public static let failed = Self(rawValue: "failed")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
