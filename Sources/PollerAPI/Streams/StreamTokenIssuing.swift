package import Poller

/// Makes the short-lived tokens that browsers listen with.
///
/// The live gateway's own, when a node has one: whoever may use the API hands a token on, and the
/// gateway believes it without asking anybody.
package protocol StreamTokenIssuing: Sendable {
    /// Makes a token for what is asked.
    ///
    /// Errors: ``InvalidInput`` for sources and types that are too many or malformed.
    func issue(_ request: StreamTokenRequest) async throws -> IssuedStreamToken
}

/// A token and its end.
package struct IssuedStreamToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself; for the answer alone.
    package let reveal: String
    /// When it ends.
    package let expiresAt: Timestamp

    /// Wraps a token.
    package init(reveal: String, expiresAt: Timestamp) {
        self.reveal = reveal
        self.expiresAt = expiresAt
    }

    package var description: String { "(redacted, until \(expiresAt))" }
}
