package import Poller

/// A token for the live gateway: whoever has it may listen until it expires.
package struct StreamToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself; for the answer to whoever asked for it alone.
    package let reveal: String
    /// When it ends.
    package let expiresAt: Timestamp

    package var description: String { "(redacted, until \(expiresAt))" }
}

/// Makes short-lived tokens for holders of API keys: `POST /v1/stream_tokens`.
package protocol StreamTokenIssuer: Sendable {
    /// Makes a token that lives for `lifetime`.
    ///
    /// Errors: ``InvalidInput`` for `lifetime` outside 1 s … ``StreamGrant/lifetimeMax``.
    func issue(_ grant: StreamGrant, lifetime: Duration) async throws -> StreamToken
}

/// Knows what a short-lived token lets its holder hear.
package protocol StreamTokenVerifier: Sendable {
    /// Who holds this; nil for a text that is no token of ours, or one that is not good now.
    func principal(streamToken text: String) async -> Principal?
}
