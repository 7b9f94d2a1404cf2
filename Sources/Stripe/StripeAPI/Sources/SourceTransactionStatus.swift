/// The state of one payment to a receiver Source.
public struct SourceTransactionStatus: OpenValue {
    /// On its way.
    public static let pending = Self(rawValue: "pending")

    /// Arrived.
    public static let succeeded = Self(rawValue: "succeeded")

    /// It did not arrive.
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
