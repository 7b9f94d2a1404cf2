import NIOHTTP1

/// One call of the API, before a client adds its headers.
struct StripeCall: Sendable {
    let method: HTTPMethod
    /// Path and query, encoded.
    let target: String
    /// The encoded body of a POST.
    let form: String?
    /// The same for every try of the call.
    var idempotencyKey: String?
    /// The reason why it cannot be sent; nil when it can.
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
        // A URL is logged; a client secret has a separate parameter, which Stripe requires.
        let isSecret = query.contains { $0.0 != "client_secret" && Self.isSecret($0.1) }
        problem = isSecret ? Self.secretMessage : nil
        self.idempotencyKey = idempotencyKey
    }
}

extension StripeCall {
    private static let secretMessage =
        "this is a secret, not an id: pass the id, as pi_…, and a client secret apart"

    /// Whether a text is a client secret, a signing secret, or a key of any kind.
    private static func isSecret(_ text: String) -> Bool {
        text.contains("_secret_") || text.hasPrefix("whsec_") || text.hasPrefix("ek_")
            || StripeKey(text).kind != .unknown
    }

    /// A path from literal parts and ids, each id encoded.
    ///
    /// - Throws: ``StripeError/invalidRequest(_:)`` for an id that would address something else: an empty one the
    ///   collection, a dot segment another resource. Also for a client secret or a key in the place of an id: URLs
    ///   are logged.
    static func path(
        _ root: String,
        _ ids: String...,
        tail: String = ""
    ) throws(StripeError) -> String {
        var path = root
        for id in ids {
            guard !id.isEmpty, id != ".", id != ".." else {
                throw .invalidRequest("the id is empty")
            }
            guard !isSecret(id) else { throw .invalidRequest(secretMessage) }
            path += "/" + PercentEncoding.encode(id)
        }
        return path + tail
    }
}

/// The methods of calls, for files that know nothing else of HTTP.
extension HTTPMethod {
    static var get: Self { .GET }
    static var post: Self { .POST }
    static var delete: Self { .DELETE }
}

/// What every request of one client begins with, checked and built once.
struct RequestHead: Sendable {
    /// The headers of a GET.
    let headers: HTTPHeaders

    /// Why no request can be sent; nil when one can.
    let problem: String?

    /// Builds the head.
    ///
    /// The account is sent as `Stripe-Account`, and with an organisation's key, which accepts no other, as
    /// `Stripe-Context`. *Source*: <https://docs.stripe.com/keys/organization-api-keys>,
    /// <https://docs.stripe.com/context>.
    init(key: StripeKey, version: String, account: String?, baseURL: String) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(7)
        headers.add(name: "Authorization", value: "Bearer " + key.value)
        headers.add(name: "Stripe-Version", value: version)
        headers.add(name: "Accept", value: "application/json")
        // Without it any encoding would be welcome (RFC 9110 §12.5.3), and a proxy may choose gzip.
        headers.add(name: "Accept-Encoding", value: "identity")
        let accountHeader = key.isOrganization ? "Stripe-Context" : "Stripe-Account"
        if let account = account {
            headers.add(name: accountHeader, value: account)
        }
        self.headers = headers
        if !key.isSendable {
            problem = "the API key is empty or has characters no key has"
        } else if !key.maySend(to: baseURL) {
            problem = "a live key goes to https addresses alone: use one of test mode, or https"
        } else if !Self.isPlain(version) {
            problem = "Stripe-Version has spaces or control characters; use StripeVersion.pinned"
        } else if account.map(Self.isPlain) == false {
            problem = "\(accountHeader) has spaces or control characters; it looks like acct_123"
        } else if key.isOrganization, account == nil {
            problem = "an organisation's key, sk_org_…, needs the account that it reads, acct_…"
        } else {
            problem = nil
        }
    }

    /// Whether a text can stand in a request line or header as it is.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

extension RequestHead: CustomReflectable, CustomStringConvertible {
    /// Nothing of the headers, among which is the key.
    var description: String { "request head" }

    /// Shows the description instead of the headers.
    var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}
