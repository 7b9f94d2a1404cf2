import SafeNumbers

/// When a typed call is repeated, and after which pause: what the official SDKs do by default.
///
/// | answer | repeated |
/// |---|---|
/// | `Stripe-Should-Retry: true` / `false` | yes / no, whatever the status |
/// | 409, 5xx | yes |
/// | 429 with code `lock_timeout` | yes: another request holds the object |
/// | any other 429 | no: the caller has to slow down, not this call |
/// | no answer: refused, lost, too slow | yes |
/// | cancelled, not HTTP, malformed, anything else | no |
///
/// A repeated POST carries the idempotency key of the first, so it takes effect once.
/// The n-th pause is 0.5 s · 2^(n−1), at most 5 s, times a random factor of 0.5 to 1, at least 0.5 s; a
/// `Retry-After` of up to a minute makes it longer.
/// *Source*: stripe-python 16.1.0 and stripe-node 22.5.0; <https://docs.stripe.com/error-low-level>.
public struct StripeRetryPolicy: Hashable, Sendable {
    /// Repeats after the first try: 2, as in the official SDKs.
    public var retriesMax: Int

    /// Creates a policy.
    public init(retriesMax: Int = 2) {
        precondition(retriesMax >= 0, "a number of retries is not negative")
        self.retriesMax = retriesMax
    }

    /// Every call is tried once.
    public static let never = StripeRetryPolicy(retriesMax: 0)

    /// The shortest pause.
    private static let delayMin = Duration.milliseconds(500)
    /// The longest pause before jitter.
    private static let delayMax = Duration.seconds(5)
    /// A longer `Retry-After` is not a reasonable wish; so the official SDKs.
    private static let retryAfterMax = Duration.seconds(60)

    /// The pause before the next try; nil when there is none.
    ///
    /// - Parameters:
    ///   - outcome: What the last try came to; a response of any status counts as an answer.
    ///   - attemptsMade: How often the call has been tried, from 1.
    ///   - jitter: From 0 up to 1, for the jitter.
    /// - Returns: The pause.
    public func delay(
        after outcome: Result<StripeResponse, StripeError>,
        attemptsMade: Int,
        jitter: Double
    ) -> Duration? {
        guard attemptsMade <= retriesMax, isRetryable(outcome) else { return nil }
        // The shift is bounded because 2^4 halves of a second exceed the longest pause already.
        let ceiling = min(Self.delayMin * (1 << min(attemptsMade - 1, 4)), Self.delayMax)
        let delay = max(ceiling * (0.5 + 0.5 * jitter), Self.delayMin)
        guard case .success(let response) = outcome, let requested = Self.retryAfter(of: response)
        else {
            return delay
        }
        return max(delay, requested)
    }

    private func isRetryable(_ outcome: Result<StripeResponse, StripeError>) -> Bool {
        switch outcome {
        case .failure(.transport(let failure)):
            return [.timeout, .connection, .reset].contains(failure.kind)
        case .failure: return false
        case .success(let response):
            if (200..<300).contains(response.status) { return false }
            if let shouldRetry = response.headers.shouldRetry { return shouldRetry }
            if response.status == 409 || response.status >= 500 { return true }
            return response.status == 429 && response.failure.error?.code == "lock_timeout"
        }
    }

    private static func retryAfter(of response: StripeResponse) -> Duration? {
        guard let seconds = response.headers.retryAfter.flatMap({ Int(safe: $0) }) else {
            return nil
        }
        let delay = Duration.seconds(seconds)
        return delay > .zero && delay <= retryAfterMax ? delay : nil
    }
}
