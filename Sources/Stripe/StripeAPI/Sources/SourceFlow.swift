/// What a Source asks of the customer.
public struct SourceFlow: OpenValue {
    /// Send the customer to `redirect.url`.
    public static let redirect = Self(rawValue: "redirect")

    /// Show the customer where to push the money.
    public static let receiver = Self(rawValue: "receiver")

    /// Ask the customer for a code.
    public static let codeVerification = Self(rawValue: "code_verification")

    /// Nothing; WeChat shows a QR code all the same.
    public static let none = Self(rawValue: "none")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "redirect", "receiver", "code_verification", "none",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}
