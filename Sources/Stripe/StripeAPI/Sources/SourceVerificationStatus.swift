/// How far a code verification got.
public struct SourceVerificationStatus: OpenValue {
    /// A code is awaited.
    public static let pending = Self(rawValue: "pending")

    /// The code was right.
    public static let succeeded = Self(rawValue: "succeeded")

    /// No attempts are left.
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
