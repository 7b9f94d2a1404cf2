/// Whether an endpoint gets events.
public struct WebhookEndpointStatus: OpenValue {
    /// It does.
    public static let enabled = Self(rawValue: "enabled")

    /// It does not.
    public static let disabled = Self(rawValue: "disabled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "enabled", "disabled",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
