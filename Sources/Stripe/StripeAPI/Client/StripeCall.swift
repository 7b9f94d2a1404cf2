import NIOHTTP1

/// An API call without the headers of a client.
struct StripeCall: Sendable {
    let method: HTTPMethod
    /// The encoded path and query.
    let target: String
    /// The encoded body of a POST.
    let form: String?
    /// The idempotency key, which is the same for every attempt of the call.
    var idempotencyKey: String?
    /// The reason why the call cannot be sent; `nil` when it can.
    let problem: String?

    init(
        _ method: HTTPMethod,
        _ path: String,
        query: [(String, String)] = [],
        form: [(String, String)]? = nil,
        idempotencyKey: String? = nil
    ) {
        self.method = method
        target = query.isEmpty ? path : path + "?" + PercentEncoding.form(query)
        self.form = form.map(PercentEncoding.form)
        // URLs are logged, so a secret must not be in one. Stripe requires the client secret in its own parameter.
        let isSecret = query.contains { $0.0 != "client_secret" && Self.isSecret($0.1) }
        problem = isSecret ? Self.secretMessage : nil
        self.idempotencyKey = idempotencyKey
    }
}

extension StripeCall {
    private static let secretMessage =
        "this is a secret, not an id: pass the id, such as pi_…, and the client secret separately"

    /// Returns whether a text is a client secret, a signing secret or an API key.
    private static func isSecret(_ text: String) -> Bool {
        text.contains("_secret_") || text.hasPrefix("whsec_") || text.hasPrefix("ek_")
            || StripeKey(text).kind != .unknown
    }

    /// Builds a path from literal parts and IDs, and percent-encodes each ID.
    ///
    /// - Throws: ``StripeError/invalidRequest(_:)`` for an ID that would address something else: an empty ID
    ///   addresses the collection, and a dot segment another resource. A client secret or key is also rejected,
    ///   because URLs are logged.
    static func path(
        _ root: String,
        _ ids: String...,
        tail: String = ""
    ) throws(StripeError) -> String {
        var path = root
        for id in ids {
            guard !id.isEmpty, id != ".", id != ".." else {
                throw .invalidRequest("the ID is empty or a dot segment")
            }
            guard !isSecret(id) else { throw .invalidRequest(secretMessage) }
            path += "/" + PercentEncoding.encode(id)
        }
        return path + tail
    }
}

/// HTTP methods, so that other files need not import `NIOHTTP1`.
extension HTTPMethod {
    static var get: Self { .GET }
    static var post: Self { .POST }
    static var delete: Self { .DELETE }
}

/// The part that all requests of one client share, validated and built once.
struct RequestHead: Sendable {
    /// The headers of a GET.
    let headers: HTTPHeaders

    /// The reason why no request can be sent; `nil` when the head is valid.
    let problem: String?

    /// Builds the head.
    ///
    /// The account is sent as `Stripe-Account`. With an organisation key, which accepts no other header, it is sent
    /// as
    /// `Stripe-Context`. *Source*: <https://docs.stripe.com/keys/organization-api-keys>,
    /// <https://docs.stripe.com/context>.
    init(key: StripeKey, version: String, account: String?, baseURL: String) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(7)
        headers.add(name: "Authorization", value: "Bearer " + key.value)
        headers.add(name: "Stripe-Version", value: version)
        headers.add(name: "Accept", value: "application/json")
        // Without this header any encoding is acceptable (RFC 9110 §12.5.3), and a proxy may choose gzip.
        headers.add(name: "Accept-Encoding", value: "identity")
        let accountHeader = key.isOrganization ? "Stripe-Context" : "Stripe-Account"
        if let account = account {
            headers.add(name: accountHeader, value: account)
        }
        self.headers = headers
        if !key.isSendable {
            problem = "the API key is empty or has invalid characters"
        } else if !key.maySend(to: baseURL) {
            problem = "a live key may only be sent over https: use a test key or an https address"
        } else if !Self.isPlain(version) {
            problem = "Stripe-Version has spaces or control characters; use StripeVersion.pinned"
        } else if account.map(Self.isPlain) == false {
            problem = "\(accountHeader) has spaces or control characters; it looks like acct_123"
        } else if key.isOrganization, account == nil {
            problem = "an organisation key, sk_org_…, needs an account ID, acct_…"
        } else {
            problem = nil
        }
    }

    /// Returns whether a text can be used in a request line or header without escaping.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

extension RequestHead: CustomReflectable, CustomStringConvertible {
    /// A constant text, because the headers include the key.
    var description: String { "request head" }

    /// Shows the description instead of the headers.
    var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}
