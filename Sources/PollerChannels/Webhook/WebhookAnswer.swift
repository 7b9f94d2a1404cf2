import Poller

/// What a receiver answered: its status line and headers decide, its body does not.
struct WebhookAnswer: Hashable, Sendable {
    let status: Int
    let retryAfter: String?

    /// What follows from the answer.
    ///
    /// | status | result |
    /// |---|---|
    /// | 2xx | delivered |
    /// | 3xx | failed: a redirect would carry the signed body to somebody else |
    /// | 410 | rejected: the receiver wants no more |
    /// | 429, 503 | failed, not before `Retry-After` |
    /// | others | failed |
    func result(now: Timestamp) -> AttemptResult {
        switch status {
        case 200..<300: .delivered
        case 300..<400: .failed("answered \(status): redirect not followed", after: nil)
        case 410: .rejected("answered 410: the receiver wants no more")
        case 429, 503:
            .failed(
                "answered \(status)",
                after: retryAfter.flatMap { RetryAfter.parse($0, now: now) }
            )
        default: .failed("answered \(status)", after: nil)
        }
    }
}
