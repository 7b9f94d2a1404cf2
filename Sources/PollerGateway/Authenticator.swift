/// Knows whose an API key is.
package protocol Authenticator: Sendable {
    /// Who may connect from this machine without a key; nil when nobody may.
    var anonymous: Principal? { get }

    /// Whose key this is; nil when it is nobody's. Compares in constant time.
    func principal(token: String) async -> Principal?
}

/// Lets everybody on this machine in: a system for which no keys are configured.
package struct OpenAuthenticator: Authenticator {
    package let anonymous: Principal? = Principal(
        name: "anonymous",
        account: nil,
        credential: .none
    )

    /// An authenticator that knows no keys.
    package init() {}

    package func principal(token: String) async -> Principal? { nil }
}
