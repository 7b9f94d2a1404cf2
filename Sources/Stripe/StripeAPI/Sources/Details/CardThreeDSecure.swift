/// Whether a card asks for 3D Secure.
public struct CardThreeDSecure: OpenValue {
    /// The charge would be declined without it.
    public static let required = Self(rawValue: "required")

    /// Accepted without it, better with it.
    public static let recommended = Self(rawValue: "recommended")

    /// Possible, without much use.
    public static let optional = Self(rawValue: "optional")

    /// The card cannot.
    public static let notSupported = Self(rawValue: "not_supported")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "required", "recommended", "optional", "not_supported",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
