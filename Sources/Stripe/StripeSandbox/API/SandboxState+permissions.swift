import HTTPTypes

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
