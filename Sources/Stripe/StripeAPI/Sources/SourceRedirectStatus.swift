/// How far the customer's redirect got.
public struct SourceRedirectStatus: OpenValue {
    /// The customer has not come back.
    public static let pending = Self(rawValue: "pending")

    /// Authorised.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Declined or aborted; see the failure reason.
    public static let failed = Self(rawValue: "failed")

    /// No redirect is needed.
    public static let notRequired = Self(rawValue: "not_required")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed", "not_required",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
