/// The secret that lets a customer's device read one Source or Intent; redacted wherever it is printed.
public struct ClientSecret: RawRepresentable, Sendable, Hashable, Codable {
    /// The secret itself, for a request's `client_secret` parameter alone.
    public let rawValue: String

    /// Wraps a secret as the API returned it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension ClientSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `client secret (redacted)`.
    public var description: String { "client secret (redacted)" }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// Shows the description instead of the stored text.
    public var customMirror: Mirror { Mirror(self, children: ["secret": description]) }
}
