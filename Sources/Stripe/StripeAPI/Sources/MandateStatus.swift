/// Whether a customer has agreed to be debited.
public struct MandateStatus: OpenValue {
    /// Agreed.
    public static let accepted = Self(rawValue: "accepted")

    /// Not decided yet.
    public static let pending = Self(rawValue: "pending")

    /// Refused.
    public static let refused = Self(rawValue: "refused")

    /// Withdrawn.
    public static let revoked = Self(rawValue: "revoked")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "accepted", "pending", "refused", "revoked",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
