/// What came of one attempt to tell a customer, and what is known about it.
package struct AttemptResult: Hashable, Sendable {
    /// What follows from it.
    package enum Outcome: String, Hashable, Sendable {
        /// The receiver has accepted it.
        case delivered
        /// It did not work now and may later.
        case failed
        /// It will never work; no further attempt of this event.
        case rejected
        /// Nothing was sent and nothing is missing: the recipient wants no mail.
        case skipped
    }

    package let outcome: Outcome
    package let kind: AttemptClass
    /// What was wrong, in a few words without secrets; empty when nothing was.
    package let reason: String
    /// The receiver's own wish for the next attempt, at most ``RetryAfter/longest``.
    package let retryAfter: Duration?
    /// The HTTP or SMTP status; nil without an answer.
    package var code: Int?
    /// The address that was connected, with its port; nil when it came to none.
    package var address: String?
    package var phases = AttemptPhases()
    /// The beginning of the answer's body, see ``Excerpt``; empty when it was accepted.
    package var excerpt = ""

    private init(
        _ outcome: Outcome,
        _ kind: AttemptClass,
        _ reason: String,
        retryAfter: Duration? = nil,
        code: Int? = nil
    ) {
        self.outcome = outcome
        self.kind = kind
        self.reason = reason
        self.retryAfter = retryAfter
        self.code = code
    }

    /// The receiver has accepted it.
    package static let delivered = AttemptResult(.delivered, .ok, "")

    /// It did not work now and may later; `after` is the receiver's own wish.
    package static func failed(
        _ reason: String,
        _ kind: AttemptClass = .serverError,
        after: Duration? = nil,
        code: Int? = nil
    ) -> AttemptResult {
        AttemptResult(.failed, kind, reason, retryAfter: after, code: code)
    }

    /// Nothing was sent and nothing is missing: the recipient wants no mail.
    package static func skipped(_ reason: String) -> AttemptResult {
        AttemptResult(.skipped, .suppressed, reason)
    }

    /// It will never work; no further attempt of this event.
    package static func rejected(
        _ reason: String,
        _ kind: AttemptClass,
        code: Int? = nil
    ) -> AttemptResult {
        AttemptResult(.rejected, kind, reason, code: code)
    }
}
