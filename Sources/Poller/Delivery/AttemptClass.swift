/// What an attempt came to, by the name operators filter and count by.
package enum AttemptClass: String, Hashable, Sendable, CaseIterable {
    /// Accepted.
    case ok
    /// 3xx: not followed, because the signed body would go to somebody else.
    case redirect
    /// 410: the receiver wants nothing more.
    case gone
    /// 401 or 403.
    case unauthorized
    /// 404.
    case notFound = "not_found"
    /// 429.
    case rateLimited = "rate_limited"
    /// Another 4xx.
    case clientError = "client_error"
    /// 5xx, or an answer that is none.
    case serverError = "server_error"
    /// No connection, or no complete answer, within the time of an attempt.
    case timeout
    /// The connection was closed before an answer.
    case reset
    /// Nobody listens there, or there is no way to it.
    case connect
    /// The certificate or the handshake.
    case tls
    /// The host's name does not resolve.
    case dns
    /// The guard of addresses does not let us connect.
    case blocked
    /// The address or URL itself cannot be used.
    case unusable
    /// A mail relay's 4xx.
    case deferred
    /// A mail relay's 5xx about this mail.
    case refused
    /// Nothing was sent: the recipient has unsubscribed, complained, or does not exist.
    case suppressed
    /// The attempt ended several notifiers.
    case poison
    /// Something of ours was missing: the process shuts down, there is no secret.
    case local

    /// Whether the next attempt is worth little before a person has changed something.
    package var needsItsOwner: Bool {
        switch self {
        case .unauthorized, .notFound, .tls: true
        default: false
        }
    }
}
