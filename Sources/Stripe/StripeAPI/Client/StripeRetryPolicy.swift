import SafeNumbers

/// The retry policy of typed calls; its defaults are those of the official SDKs.
///
/// | response | retried |
/// |---|---|
/// | `Stripe-Should-Retry: true` / `false` | yes / no, regardless of the status |
/// | 409, 5xx | yes |
/// | 429 with code `lock_timeout` | yes: another request holds the object |
/// | any other 429 | no: the caller must slow down |
/// | no response: connection refused, connection lost, timeout | yes |
/// | cancelled, not HTTP, malformed, anything else | no |
///
/// A retried POST has the same idempotency key, so it takes effect once.
/// The n-th delay is 0.5 s · 2^(n−1), at most 5 s, multiplied by a random factor of 0.5 to 1, and at least 0.5 s. A
/// `Retry-After` of up to one minute makes it longer.
/// *Source*: stripe-python 16.1.0 and stripe-node 22.5.0; <https://docs.stripe.com/error-low-level>.
public struct StripeRetryPolicy: Hashable, Sendable {
    /// The maximum number of retries after the first attempt; 2 by default, as in the official SDKs.
    public var retriesMax: Int

    /// Creates a policy.
    public init(retriesMax: Int = 2) {
        precondition(retriesMax >= 0, "retriesMax must not be negative")
        self.retriesMax = retriesMax
    }

    /// A policy without retries.
    public static let never = StripeRetryPolicy(retriesMax: 0)

    /// The shortest delay.
    private static let delayMin = Duration.milliseconds(500)
    /// The longest delay before jitter.
    private static let delayMax = Duration.seconds(5)
    /// The longest `Retry-After` that is honoured, as in the official SDKs.
    private static let retryAfterMax = Duration.seconds(60)

    /// Returns the delay before the next attempt, or `nil` when the call must not be retried.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the last attempt; a response with any status is a success.
    ///   - attemptsMade: The number of attempts so far, from 1.
    ///   - jitter: A random number from 0 up to 1.
    /// - Returns: The delay.
    public func delay(
        after outcome: Result<StripeResponse, StripeError>,
        attemptsMade: Int,
        jitter: Double
    ) -> Duration? {
        guard attemptsMade <= retriesMax, isRetryable(outcome) else { return nil }
        // The shift is limited because 0.5 s · 2^4 already exceeds the longest delay.
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
