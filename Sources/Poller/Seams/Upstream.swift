/// Where the truth about sources is: Stripe, or any system that answers a GET.
package protocol Upstream: Sendable {
    /// Asks once. Never throws: whatever happens is one of the results, and what follows from it
    /// is decided elsewhere.
    ///
    /// `timeout` is for everything from the connection to the last byte of the body.
    func poll(_ watch: Watch, timeout: Duration) async -> PollResult
}

/// What came of asking the upstream once.
package enum PollResult: Hashable, Sendable {
    /// It told the source's status.
    case observed(Observation)
    /// It wants everybody of this account and endpoint to slow down (429).
    case rateLimited(retryAfter: Duration?)
    /// This one object is busy (429 with code `lock_timeout`); others are not concerned.
    case lockTimeout
    /// It is down or cannot be reached: 5xx, network, timeout.
    case unavailable(String, retryAfter: Duration?)
    /// It refuses our credentials (401, 403): nothing of this lane will work until a person acts.
    case unauthorized(String)
    /// It does not know the source (404).
    case gone
    /// It answered what cannot be understood.
    case malformed(String)
}

/// A status somebody has really seen.
package struct Observation: Hashable, Sendable {
    package let status: SourceStatus
    /// The status cannot change any more.
    package let final: Bool
    /// The upstream's object as it came.
    package let object: RawJSON?

    /// Describes what was seen.
    package init(status: SourceStatus, final: Bool, object: RawJSON?) {
        self.status = status
        self.final = final
        self.object = object
    }
}
