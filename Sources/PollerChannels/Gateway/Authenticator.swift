package import Poller

/// Knows whose an API key is.
package protocol Authenticator: Sendable {
    /// Who may connect from this machine without a key; nil when nobody may.
    var anonymous: Principal? { get }

    /// Whose key this is; nil when it is nobody's. Compares in constant time.
    func principal(token: String) async -> Principal?
}

/// Somebody whose key we know, and what they may see.
package struct Principal: Hashable, Sendable {
    /// The name of the key, for logs; never the key.
    package let name: String
    /// The only account whose events they may see; nil for all.
    package let account: AccountID?

    /// Describes somebody.
    package init(name: String, account: AccountID?) {
        self.name = name
        self.account = account
    }
}

/// Lets everybody on this machine in: a system for which no keys are configured.
package struct OpenAuthenticator: Authenticator {
    package let anonymous: Principal? = Principal(name: "anonymous", account: nil)

    /// An authenticator that knows no keys.
    package init() {}

    package func principal(token: String) async -> Principal? { nil }
}
