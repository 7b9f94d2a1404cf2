/// Why a redirect failed.
public struct SourceRedirectFailure: OpenValue {
    /// The customer gave up.
    public static let userAbort = Self(rawValue: "user_abort")

    /// The bank declined.
    public static let declined = Self(rawValue: "declined")

    /// A technical failure.
    public static let processingError = Self(rawValue: "processing_error")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "user_abort", "declined", "processing_error",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
