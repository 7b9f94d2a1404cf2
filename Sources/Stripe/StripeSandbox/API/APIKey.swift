import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key of a request; any test-mode key is accepted.
struct APIKey: Sendable {
    /// What a key may do by its kind.
    enum Kind: Sendable {
        /// `sk_test_…`: everything; `sk_org_test_…`: everything of the account that `Stripe-Context` names.
        case secret
        /// `rk_test_…`: reads everything, unless `POST /_sandbox/keys` granted it otherwise.
        case restricted
        /// `pk_test_…`: needs the `client_secret` of what it reads.
        case publishable
    }

    let text: String
    let kind: Kind

    /// The last four characters, for the request log.
    var suffix: String { String(text.suffix(4)) }

    var isPublishable: Bool { kind == .publishable }

    /// Whether it is an organisation's: each of its requests names an account.
    ///
    /// *Source*: <https://docs.stripe.com/keys/organization-api-keys>.
    var isOrganization: Bool { text.hasPrefix("sk_org_") }

    /// Reads `Authorization: Bearer KEY` or `Basic base64(KEY:)`.
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

    /// The kind of a test-mode key; nil for anything else.
    static func kind(of key: String) -> Kind? {
        if key.hasPrefix("sk_test_") || key.hasPrefix("sk_org_test_") { return .secret }
        if key.hasPrefix("rk_test_") { return .restricted }
        if key.hasPrefix("pk_test_") { return .publishable }
        return nil
    }

    /// Both ways that Stripe documents; curl's `-u key:` is the second.
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

/// What a test gave a key: an account, permissions, or an end.
struct KeyGrant {
    /// What a restricted key may do with one resource.
    enum Access: String, Decodable {
        case none, read, write
    }

    /// The account the key belongs to; nil is the platform's own.
    var account: String?
    /// Access by the name in the path (`sources`, `charges`, …); `*` for all others, else none.
    var permissions: [String: Access]?
    /// Whether the key was rolled and no longer works.
    var isExpired = false

    /// What the key may do there; everything when a test gave it no permissions.
    func access(to resource: Substring) -> Access {
        guard let permissions else { return .write }
        // Stripe has one permission for charges and refunds.
        let name = resource == "refunds" ? "charges" : String(resource)
        return permissions[name] ?? permissions["*"] ?? .none
    }
}

extension SandboxState {
    /// Keys a test can register; each request looks one up.
    static let grantsMax = 10_000

    /// Refuses an expired key, and a restricted one outside its permissions.
    ///
    /// - Returns: The account the call acts for.
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

    /// Enough of a key to recognise it.
    private static func masked(_ key: APIKey) -> String {
        "\(key.text.prefix(8))********\(key.suffix)"
    }

    /// Publishable keys may create and read what they hold the secret of, nothing else.
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

    /// A publishable key needs the right `client_secret`; a secret key may send it, and then it must fit.
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
