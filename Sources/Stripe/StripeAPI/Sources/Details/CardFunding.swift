/// Where the money of a card comes from.
public struct CardFunding: OpenValue {
    /// A credit card.
    public static let credit = Self(rawValue: "credit")

    /// A debit card.
    public static let debit = Self(rawValue: "debit")

    /// A prepaid card.
    public static let prepaid = Self(rawValue: "prepaid")

    /// The issuer does not say.
    public static let unknown = Self(rawValue: "unknown")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "credit", "debit", "prepaid", "unknown",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
