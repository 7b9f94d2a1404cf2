/// What names a watch: a source under an account.
public struct WatchName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The upstream's id: `src_…`, `pi_…`.
    public let source: String
    /// The account at the upstream; nil is the server's `default`.
    public let account: String?
    /// `source`, `payment_intent`, `setup_intent`, `charge` or `http`; needed when the id has none
    /// of Stripe's prefixes.
    public let kind: String?

    /// Names the watch of a source.
    public init(_ source: String, account: String? = nil, kind: String? = nil) {
        self.source = source
        self.account = account
        self.kind = kind
    }

    /// Names the watch of a source under the default account.
    public init(stringLiteral source: String) {
        self.init(source)
    }

    /// The source, with its account when that is not the default.
    public var description: String {
        account.map { "\(source) (\($0))" } ?? source
    }

    var path: String { "/v1/watches/\(PollerClient.percentEncoded(source))" }

    var query: [(String, String?)] { [("account", account), ("kind", kind)] }

    /// Whether an event is one of this watch.
    func names(_ event: WatchEvent) -> Bool {
        event.source == source && event.account == (account ?? "default")
    }
}
