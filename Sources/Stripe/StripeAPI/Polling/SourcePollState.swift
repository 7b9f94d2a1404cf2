/// Decides what follows a poll of a Source: another poll after a delay, or the end.
///
/// The type is pure: the caller supplies time and jitter, and performs the returned step.
///
/// The rules are those of stripe-ios (`STPSourcePoller`), except for noted defects:
///
/// | response | next step |
/// |---|---|
/// | pending | next poll after 1.5 s; all counters and the interval are reset |
/// | any other status | end |
/// | 5xx, 3xx | the interval doubles, up to 24 s; the fifth since a pending answer ends the run: 3 + 6 + 12 + 24 s |
/// | no connection, connection lost | the interval stays; counted together with the row above |
/// | 429 | after 1, 4 and 9 s plus up to 0.5 s; the fourth since a pending answer ends the run |
/// | other 4xx | end, including 401 and 404 |
/// | timeout, not JSON, not HTTP | end |
///
/// *No connection* means a refused connection, an unknown host or a failed TLS handshake. The SDK ends the run in
/// these cases and continues when the phone is offline, which its operating system reports. A server cannot tell: an
/// outage of its own network or resolver looks like an unknown host, and a deployment on the other side looks like a
/// refused connection. Five polls in six seconds limit the cost of a permanent error.
///
/// *Limits*: the caller's timeout, at most 300 s from the start, including pauses. At least one poll is made. The SDK
/// polls once more up to one interval after the timeout; here the last delay is shortened so that the last poll is on
/// time.
struct SourcePollState: Hashable, Sendable {
    /// The delay after a pending Source.
    static let interval = Duration.milliseconds(1500)
    /// The longest delay after failures.
    static let intervalMax = Duration.seconds(24)
    /// The longest timeout; to wait longer, use webhooks.
    static let timeoutMax = Duration.seconds(300)
    /// The number of failures since the last pending answer that ends a run.
    static let failuresMax = 5
    /// The delays after a 429, as in the SDK's transport.
    static let rateLimitDelays: [Duration] = [.seconds(1), .seconds(4), .seconds(9)]

    /// The outcome of a poll.
    enum Answer: Sendable {
        case snapshot(SourceSnapshot)
        case failed(StripeError)
    }

    /// The next step.
    enum Step: Hashable, Sendable {
        case poll(after: Duration)
        case end(SourcePollEnd)
    }

    private let timeout: Duration
    private var interval = SourcePollState.interval
    private var failures = 0
    private var rateLimited = 0

    init(timeout: Duration) {
        self.timeout = min(max(timeout, .zero), Self.timeoutMax)
    }

    /// Returns the time until the timeout.
    func remaining(at elapsed: Duration) -> Duration { max(timeout - elapsed, .zero) }

    /// Updates the state with the outcome of a poll and returns the next step.
    ///
    /// `elapsed` is the time since the start. `duration` is the time of the poll itself; a reader that waits on the
    /// server may subtract it from the delay. `jitter` is from 0 up to 1.
    mutating func step(
        after answer: Answer,
        elapsed: Duration,
        duration: Duration = .zero,
        jitter: Double = 0
    ) -> Step {
        switch answer {
        case .snapshot(let snapshot):
            if let status = snapshot.status, status != .pending { return .end(.leftPending) }
            if let reason = snapshot.closedReason { return .end(.closed(reason: reason)) }
            self = SourcePollState(timeout: timeout)
            // A cluster holds its response back until a change, so the time of the request counts as delay. Stripe
            // responds immediately.
            let spent = snapshot.seq == nil ? .zero : min(duration, interval)
            return next(after: interval - spent, elapsed)
        case .failed(let error): return step(after: error, elapsed, jitter)
        }
    }

    private mutating func step(
        after error: StripeError,
        _ elapsed: Duration,
        _ jitter: Double
    ) -> Step {
        switch error {
        case .transport(let failure):
            switch failure.kind {
            case .cancelled: return .end(.stopped)
            case .connection, .reset: return countingFailure(delay: interval, elapsed)
            case .timeout, .notHTTP: return .end(.failed)
            }
        case .api(let failure) where failure.status == 429:
            guard rateLimited < Self.rateLimitDelays.count else { return .end(.failed) }
            rateLimited += 1
            return next(
                after: Self.rateLimitDelays[rateLimited - 1] + .seconds(jitter / 2),
                elapsed
            )
        case .api(let failure) where (400..<500).contains(failure.status): return .end(.failed)
        case .api:
            interval = min(interval * 2, Self.intervalMax)
            return countingFailure(delay: interval, elapsed)
        case .bodyTooLarge, .malformed, .invalidRequest: return .end(.failed)
        }
    }

    private mutating func countingFailure(delay: Duration, _ elapsed: Duration) -> Step {
        failures += 1
        guard failures < Self.failuresMax else { return .end(.failed) }
        return next(after: delay, elapsed)
    }

    private func next(after delay: Duration, _ elapsed: Duration) -> Step {
        guard elapsed < timeout else { return .end(.timedOut) }
        return .poll(after: min(delay, timeout - elapsed))
    }
}
