import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The API key of a request; any test-mode key is accepted.
struct APIKey: Sendable {
    /// The permissions of a key, by its kind.
    enum Kind: Sendable {
        /// `sk_test_…`: full access. `sk_org_test_…`: full access to the account named by `Stripe-Context`.
        case secret
        /// `rk_test_…`: read access, unless `POST /_sandbox/keys` granted other permissions.
        case restricted
        /// `pk_test_…`: needs the `client_secret` of the object it reads.
        case publishable
    }

    let text: String
    let kind: Kind

    /// The last four characters, for the request log.
    var suffix: String { String(text.suffix(4)) }

    var isPublishable: Bool { kind == .publishable }

    /// Whether this is an organisation key, whose requests must name an account.
    ///
    /// *Source*: <https://docs.stripe.com/keys/organization-api-keys>.
    var isOrganization: Bool { text.hasPrefix("sk_org_") }

    /// Reads the key from `Authorization: Bearer KEY` or `Basic base64(KEY:)`.
    init(_ headers: HTTPFields) throws(APIError) {
        guard let key = Self.key(in: headers[.authorization] ?? ""), !key.isEmpty else {
            throw APIError.invalid(
                "You did not provide an API key. You need to provide your API key in the "
                    + "Authorization header, using Bearer auth (e.g. 'Authorization: Bearer "
                    + "YOUR_SECRET_KEY'). The sandbox takes any key starting with sk_test_.",
                status: 401
            )
        }
        guard let kind = Self.kind(of: key) else {
            throw APIError.invalid(
                "Invalid API Key provided: \(key.prefix(3))****\(key.suffix(4)). "
                    + "The sandbox takes keys starting with sk_test_, rk_test_ or pk_test_.",
                status: 401,
                code: "api_key_invalid"
            )
        }
        text = key
        self.kind = kind
    }

    /// Returns the kind of a test-mode key; `nil` for any other text.
    static func kind(of key: String) -> Kind? {
        if key.hasPrefix("sk_test_") || key.hasPrefix("sk_org_test_") { return .secret }
        if key.hasPrefix("rk_test_") { return .restricted }
        if key.hasPrefix("pk_test_") { return .publishable }
        return nil
    }

    /// Both documented forms; curl's `-u key:` sends the second.
    private static func key(in authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let scheme = parts.first, let value = parts.last else { return nil }
        switch scheme.lowercased() {
        case "bearer":
            return String(value)
        case "basic":
            guard let data = Data(base64Encoded: String(value)) else { return nil }
            return String(decoding: data, as: UTF8.self).split(separator: ":").first.map(
                String.init
            )
        default:
            return nil
        }
    }
}

/// A test's settings for a key: account, permissions and expiry.
struct KeyGrant {
    /// The access of a restricted key to one resource.
    enum Access: String, Decodable {
        case none, read, write
    }

    /// The account of the key; `nil` for the platform.
    var account: String?
    /// Access by the resource name in the path (`sources`, `charges`, …); `*` for all others, otherwise none.
    var permissions: [String: Access]?
    /// Whether the key was rolled and is no longer valid.
    var isExpired = false

    /// Returns the access to a resource; full access unless a test set permissions.
    func access(to resource: Substring) -> Access {
        guard let permissions else { return .write }
        // Stripe has one permission for charges and refunds.
        let name = resource == "refunds" ? "charges" : String(resource)
        return permissions[name] ?? permissions["*"] ?? .none
    }
}

extension SandboxState {
    /// The maximum number of keys that tests can register; every request looks one up.
    static let grantsMax = 10_000

    /// Rejects an expired key and a restricted key without the required permission.
    ///
    /// - Returns: The account that the call acts for.
    func authorise(_ call: APICall) throws(APIError) -> String? {
        if let account = call.account, !account.hasPrefix("acct_") {
            throw APIError.invalid(
                "The provided key '\(Self.masked(call.key))' does not have access to account "
                    + "'\(account)' (or that account does not exist). Application access may have "
                    + "been revoked.",
                status: 403,
                code: "account_invalid"
            )
        }
        let grant = grants.isEmpty ? nil : grants[call.key.text]
        if grant?.isExpired == true {
            throw APIError.invalid(
                "Expired API Key provided: \(Self.masked(call.key)).",
                status: 401,
                code: "api_key_expired"
            )
        }
        if call.key.kind == .restricted {
            let access = grant?.access(to: call.segments.first ?? "") ?? .read
            guard access == .write || (access == .read && call.method == .get) else {
                throw Self.notPermitted(call)
            }
        }
        return call.account ?? grant?.account
    }

    private static func notPermitted(_ call: APICall) -> APIError {
        let level = call.method == .get ? "read" : "write"
        return .invalid(
            "The provided key '\(masked(call.key))' does not have the required permissions for "
                + "this endpoint on account '\(call.account ?? "acct_sandbox")'. Having the "
                + "'rak_\(call.segment(0))_\(level)' permission would allow this request to "
                + "continue.",
            status: 403
        )
    }

    /// Returns a masked key that is still recognisable.
    private static func masked(_ key: APIKey) -> String {
        "\(key.text.prefix(8))********\(key.suffix)"
    }

    /// Rejects publishable keys, which may only create objects and read those whose secret they have.
    static func requireSecretKey(_ call: APICall) throws(APIError) {
        guard !call.key.isPublishable else {
            throw APIError.invalid(
                "This API call cannot be made with a publishable API key. Please use a secret "
                    + "API key.",
                status: 403,
                code: "secret_key_required"
            )
        }
    }

    /// Requires the client secret from a publishable key; a secret key may omit it, but must not send a wrong one.
    static func requireClientSecret(
        _ expected: String,
        _ call: APICall,
        kind: String
    ) throws(APIError) {
        let given = call.form["client_secret"]
        if given == nil, !call.key.isPublishable { return }
        guard let given else { throw APIError.missing("client_secret") }
        guard given == expected else {
            throw APIError.invalid(
                "The client_secret provided does not match the client_secret associated with "
                    + "this \(kind).",
                param: "client_secret"
            )
        }
    }
}
