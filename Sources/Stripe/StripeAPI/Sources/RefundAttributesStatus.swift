/// Whether the details of a refund are known.
public struct RefundAttributesStatus: OpenValue {
    /// Nobody has asked yet.
    public static let missing = Self(rawValue: "missing")

    /// Asked for.
    public static let requested = Self(rawValue: "requested")

    /// Known; the refund goes on.
    public static let available = Self(rawValue: "available")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "missing", "requested", "available",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
