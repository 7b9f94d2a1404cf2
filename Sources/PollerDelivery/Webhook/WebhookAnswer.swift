import Poller

/// What a receiver answered: its status line and headers decide, its body does not.
struct WebhookAnswer: Hashable, Sendable {
    let status: Int
    let retryAfter: String?
    /// The body's first bytes, unless it was accepted.
    private(set) var body: [UInt8] = []

    /// An answer of which the head has come.
    init(status: Int, retryAfter: String?) {
        self.status = status
        self.retryAfter = retryAfter
    }

    /// Takes in some of the body.
    mutating func add(_ bytes: some Collection<UInt8>) {
        let room = Excerpt.bytesMax - body.count
        guard room > 0, !(200..<300).contains(status) else { return }
        body += bytes.prefix(room)
    }

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
        var result =
            switch status {
            case 200..<300: AttemptResult.delivered
            case 300..<400:
                AttemptResult.failed("answered \(status): redirect not followed", kind)
            case 410: AttemptResult.rejected("answered 410: the receiver wants no more", kind)
            case 429, 503:
                AttemptResult.failed(
                    "answered \(status)",
                    kind,
                    after: retryAfter.flatMap { RetryAfter.parse($0, now: now) }
                )
            default: AttemptResult.failed("answered \(status)", kind)
            }
        result.code = status
        result.excerpt = Excerpt.text(body)
        return result
    }

    private var kind: AttemptClass {
        switch status {
        case 200..<300: .ok
        case 300..<400: .redirect
        case 401, 403: .unauthorized
        case 404: .notFound
        case 410: .gone
        case 429: .rateLimited
        case 400..<500: .clientError
        default: .serverError
        }
    }
}
