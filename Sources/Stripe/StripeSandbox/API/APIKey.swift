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
        /// `sk_test_…`: everything.
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
        if key.hasPrefix("sk_test_") { return .secret }
        if key.hasPrefix("rk_test_") { return .restricted }
        if key.hasPrefix("pk_test_") { return .publishable }
        return nil
    }

    private static func key(in authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "bearer":
            return String(parts[1])
        case "basic":
            guard let data = Data(base64Encoded: String(parts[1])) else { return nil }
            return String(decoding: data, as: UTF8.self).split(separator: ":").first.map(
                String.init
            )
        default:
            return nil
        }
    }
}
