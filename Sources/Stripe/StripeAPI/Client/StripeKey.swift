/// An API key that never shows itself.
///
/// Its description, debug description and mirror carry the kind and the last four characters only, so a key
/// may sit inside a value that is logged by accident.
public struct StripeKey: Sendable, Hashable {
    /// What the key may do.
    public enum Kind: String, Sendable {
        /// `sk_…`: everything.
        case secret
        /// `rk_…`: what its permissions say; a read-only one is enough to poll.
        case restricted
        /// `pk_…`: needs the object's `client_secret` with every request.
        case publishable
        /// Any other text; Stripe will refuse it.
        case unknown
    }

    /// The key itself, for the `Authorization` header alone.
    let value: String

    /// Wraps a key as Stripe's dashboard shows it; spaces and newlines around it are dropped.
    public init(_ value: String) {
        var text = Substring(value)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        self.value = String(text.drop(while: \.isWhitespace))
    }

    /// The kind, told by the prefix.
    public var kind: Kind {
        if value.hasPrefix("sk_") { return .secret }
        if value.hasPrefix("rk_") { return .restricted }
        if value.hasPrefix("pk_") { return .publishable }
        return .unknown
    }

    /// Whether it is the key of an organisation, `sk_org_…`: every request with it names an account.
    ///
    /// *Source*: <https://docs.stripe.com/keys/organization-api-keys>.
    public var isOrganization: Bool { value.hasPrefix("sk_org_") }

    /// Whether it is of live mode, where payments are real, or of test mode; nil when it does not tell.
    public var isLive: Bool? {
        value.contains("_live_") ? true : value.contains("_test_") ? false : nil
    }

    /// Whether the key may be sent to a base URL.
    ///
    /// A live key that is secret goes to `https` alone, and not even on this machine without: whoever reads it on
    /// its way can move money, and what stands in for Stripe must never see one.
    public func maySend(to baseURL: String) -> Bool {
        kind == .publishable || isLive != true || baseURL.lowercased().hasPrefix("https://")
    }

    /// Whether the key can be sent at all: not empty, printable ASCII without spaces.
    public var isSendable: Bool {
        !value.isEmpty && RequestHead.isPlain(value)
    }
}

extension StripeKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// For example `secret key …4eC3`.
    public var description: String {
        // Fewer than 16 characters would make the last four a large part of the secret.
        value.utf8.count >= 16 ? "\(kind.rawValue) key …\(value.suffix(4))" : "\(kind.rawValue) key"
    }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// Shows the description instead of the stored text.
    public var customMirror: Mirror { Mirror(self, children: ["key": description]) }
}

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
