/// When an authorised payment is captured.
public struct CaptureMethod: OpenValue {
    /// At once.
    public static let automatic = Self(rawValue: "automatic")

    /// At once, in the background.
    public static let automaticAsync = Self(rawValue: "automatic_async")

    /// When you say so; see `requires_capture`.
    public static let manual = Self(rawValue: "manual")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "automatic", "automatic_async", "manual",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
