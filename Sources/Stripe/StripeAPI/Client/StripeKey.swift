/// An API key that is redacted wherever it is printed.
///
/// The description, debug description and mirror show only the kind and the last four characters, so a value that
/// contains a key can be logged safely.
public struct StripeKey: Sendable, Hashable {
    /// The kind of a key, which determines its permissions.
    public enum Kind: String, Sendable {
        /// `sk_…`: full access.
        case secret
        /// `rk_…`: access according to its permissions; a read-only key is enough for polling.
        case restricted
        /// `pk_…`: every request also needs the object's `client_secret`.
        case publishable
        /// Any other text, which Stripe rejects.
        case unknown
    }

    /// The key itself, used only in the `Authorization` header.
    let value: String

    /// Creates a key from the text in Stripe's dashboard; surrounding white space is removed.
    public init(_ value: String) {
        var text = Substring(value)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        self.value = String(text.drop(while: \.isWhitespace))
    }

    /// The kind, derived from the prefix.
    public var kind: Kind {
        if value.hasPrefix("sk_") { return .secret }
        if value.hasPrefix("rk_") { return .restricted }
        if value.hasPrefix("pk_") { return .publishable }
        return .unknown
    }

    /// Whether this is an organisation key, `sk_org_…`, whose requests must name an account.
    ///
    /// *Source*: <https://docs.stripe.com/keys/organization-api-keys>.
    public var isOrganization: Bool { value.hasPrefix("sk_org_") }

    /// Whether the key is for live mode, where payments are real, or test mode; `nil` when the key does not show it.
    public var isLive: Bool? {
        value.contains("_live_") ? true : value.contains("_test_") ? false : nil
    }

    /// Returns whether the key may be sent to a base URL.
    ///
    /// A secret live key may only be sent over `https`, even on the same machine. An intercepted key can move money,
    /// and a sandbox must never receive a live key.
    public func maySend(to baseURL: String) -> Bool {
        kind == .publishable || isLive != true || baseURL.lowercased().hasPrefix("https://")
    }

    /// Whether the key can be sent: it is not empty and consists of printable ASCII without spaces.
    public var isSendable: Bool {
        !value.isEmpty && RequestHead.isPlain(value)
    }
}

extension StripeKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// For example `secret key …4eC3`.
    public var description: String {
        // With fewer than 16 characters, the last four would reveal too much of the secret.
        value.utf8.count >= 16 ? "\(kind.rawValue) key …\(value.suffix(4))" : "\(kind.rawValue) key"
    }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror with the description instead of the key.
    public var customMirror: Mirror { Mirror(self, children: ["key": description]) }
}

/// The secret that lets a customer's device read one Source or Intent; redacted wherever it is printed.
public struct ClientSecret: RawRepresentable, Sendable, Hashable, Codable {
    /// The secret itself, used only in the `client_secret` parameter.
    public let rawValue: String

    /// Creates a secret from the API's value.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension ClientSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `client secret (redacted)`.
    public var description: String { "client secret (redacted)" }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror with the description instead of the secret.
    public var customMirror: Mirror { Mirror(self, children: ["secret": description]) }
}
