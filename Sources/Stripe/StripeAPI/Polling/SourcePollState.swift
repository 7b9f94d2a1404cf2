/// Decides what follows a look at a Source: another one after a pause, or the end.
///
/// Pure: time and jitter come in, and others act upon the answer.
///
/// What stripe-ios does (`STPSourcePoller`), except where it is noted as a fault:
///
/// | answer | follows |
/// |---|---|
/// | pending | next look after 1.5 s; all counters and the interval start anew |
/// | any other status | end |
/// | 5xx, 3xx | interval doubled up to 24 s; the fifth in a row ends it: 3 + 6 + 12 + 24 s |
/// | no connection, or it was lost | same interval; counted with those above |
/// | 429 | after 1, 4, 9 s and up to half a second; the fourth in a row ends it |
/// | other 4xx | end at once, 404 and 401 among them |
/// | no answer in time, not JSON, not HTTP | end at once |
///
/// *No connection* is a refusal, an unknown host or a failed handshake. The SDK ends at those and goes on when
/// the phone is offline, which its system tells apart. A server is told nothing of the kind: its own network or a
/// resolver that is away looks like an unknown host, a deploy on the other side like a refusal. Five looks in six
/// seconds bound what a lasting mistake costs.
///
/// *Limits*: the caller's timeout, at most 300 s, counted from the start and through pauses; at least one look is
/// made. The SDK looks once more up to an interval after that; here the last pause is cut so that the last look
/// is on time.
struct SourcePollState: Hashable, Sendable {
    /// The pause after a Source that is still pending.
    static let interval = Duration.milliseconds(1500)
    /// The longest pause after failures.
    static let intervalMax = Duration.seconds(24)
    /// The longest timeout: whoever wants to wait longer listens to webhooks.
    static let timeoutMax = Duration.seconds(300)
    /// Failures in a row that end it.
    static let failuresMax = 5
    /// The pauses after a 429, as the SDK's transport makes them.
    static let rateLimitDelays: [Duration] = [.seconds(1), .seconds(4), .seconds(9)]

    /// What a look came to.
    enum Answer: Sendable {
        case snapshot(SourceSnapshot)
        case failed(StripeError)
    }

    /// What follows.
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

    /// How much time is left.
    func remaining(at elapsed: Duration) -> Duration { max(timeout - elapsed, .zero) }

    /// Takes what a look came to.
    ///
    /// `elapsed` counts from the start; `duration` is how long the look lasted, which a reader that waits for news
    /// may take off the pause; `jitter` is from 0 up to 1.
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
            // Stripe answers at once; a cluster has held the answer back, so its time counts as pause.
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
