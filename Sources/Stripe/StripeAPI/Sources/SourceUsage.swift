/// How often a Source can be charged.
public struct SourceUsage: OpenValue {
    /// Any number of times once attached to a customer.
    public static let reusable = Self(rawValue: "reusable")

    /// Once.
    public static let singleUse = Self(rawValue: "single_use")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "reusable", "single_use",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
