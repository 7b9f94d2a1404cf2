/// Decides what follows from a poll: the heart of the system, pure, and nothing else knows.
///
/// ```
/// observed, status differs ─▶ event; final? close(settled) : goal? close(reached) : look again soon
/// observed, same status    ─▶ look again, each time later
/// rate limited             ─▶ the lane waits, then goes on at half its rate; the watch has not failed
/// lock timeout             ─▶ this watch waits a moment
/// unavailable              ─▶ full-jitter backoff; enough in a row open the lane's circuit
/// malformed                ─▶ full-jitter backoff; five times in a row: close(dead)
/// unauthorized             ─▶ the lane's circuit opens: one poll a minute probes it
/// unserved                 ─▶ this watch backs off, and another worker goes first
/// gone                     ─▶ close(gone)
/// deadline passed          ─▶ after an answer close(expired); without one a grace, then the same
/// expired upstream         ─▶ a look at that instant and one a minute later, then close(expired)
/// ```
///
/// A polling error never becomes a payment status: what we could not see, we do not tell.
package struct PollDecider: Sendable {
    /// How long after a hint a watch is polled eagerly: a customer has just come back.
    static let eagerness = Duration.seconds(60)
    /// The longest wait of an eager watch, and of one whose object was locked.
    static let eagerWait = Duration.seconds(1)
    /// The longest wait of a watch whose upstream fails.
    static let failureWaitMax = Duration.seconds(60)
    /// How long a lane stays closed when our credentials are refused: one poll a minute is a
    /// probe that notices a repaired key and hurts nobody.
    static let unauthorizedHold = Duration.seconds(60)
    /// How long a lane stays closed after a 429 that names no time: Stripe documents none.
    static let rateLimitHold = Duration.seconds(1)
    /// The most a receiver's `Retry-After` may ask for.
    static let retryAfterMax = Duration.seconds(3600)
    /// Answers in a row that nobody understands before a person must look.
    static let malformedMax = 5

    /// The longest that a watch outlives its deadline for want of an answer.
    static func grace(timeout: Duration) -> Duration {
        min(timeout / 10, .seconds(600))
    }

    /// Makes a decider; it holds nothing.
    package init() {}

    /// Decides.
    ///
    /// `now` is the store's clock when the answer had come; `due` is when the watch was to be
    /// polled, for the event's lag.
    package func decide(
        _ watch: Watch,
        _ result: PollResult,
        due: Timestamp,
        polledAt: Timestamp,
        now: Timestamp,
        using chance: inout some RandomNumberGenerator
    ) -> PollDecision {
        var state = watch.state
        state.attempts += 1
        state.lastPolledAt = polledAt
        if case .malformed = result {} else { state.malformed = 0 }
        let lag = max(polledAt - due, .zero)

        switch result {
        case .observed(let observation):
            state.failures = 0
            let changed = observation.status != state.status
            if changed || end(of: watch, observation) != nil {
                return recorded(watch, observation, state, polledAt, lag, now, &chance)
            }
            let outlook = PollOutlook(watch, observation)
            if polledAt >= outlook.deadline {
                return closed(watch, .expired, state, polledAt: polledAt, lag: lag, error: nil)
            }
            state.step += 1
            return again(watch, outlook, state, now, error: nil, &chance)

        case .gone:
            let error = "the upstream does not know this source (404): check id, account and mode"
            return closed(watch, .gone, state, polledAt: polledAt, lag: lag, error: error)

        case .rateLimited(let retryAfter):
            // A `Retry-After: 0` must not make the lane spin.
            let hold = max(bounded(retryAfter) ?? .zero, jittered(Self.rateLimitHold, &chance))
            let error = "rate limited by the upstream"
            return failed(watch, state, .zero, polledAt, lag, now, error: error, .slow(hold))

        case .lockTimeout:
            let wait = jittered(Self.eagerWait, &chance)
            let error = "the object is locked upstream"
            return failed(watch, state, wait, polledAt, lag, now, error: error)

        case .unauthorized(let reason):
            let error = "credentials refused: \(reason); the lane is tried again every minute"
            let hold = Self.unauthorizedHold
            return failed(watch, state, .zero, polledAt, lag, now, error: error, .refused(hold))

        case .unserved(let reason):
            // It says nothing about the lane: the worker beside us may do well.
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &chance)
            return failed(watch, state, wait, polledAt, lag, now, error: reason)

        case .unavailable(let reason, let retryAfter):
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &chance)
            return failed(watch, state, wait, polledAt, lag, now, error: reason, .failing)

        case .malformed(let reason):
            state.failures += 1
            state.malformed += 1
            if state.malformed >= Self.malformedMax {
                let error = "not understood \(state.malformed) times: \(reason)"
                return closed(watch, .dead, state, polledAt: polledAt, lag: lag, error: error)
            }
            let wait = backoff(failures: state.failures, atLeast: nil, &chance)
            return failed(watch, state, wait, polledAt, lag, now, error: reason)
        }
    }

    /// Decides on a watch whose every holder died: it is not polled again before a person looks.
    package func poisoned(_ watch: Watch, crashes: Int, now: Timestamp) -> PollDecision {
        let error =
            "\(crashes) workers in a row ended without a word while they polled it; it is not tried "
            + "again before somebody redrives it"
        return closed(watch, .dead, watch.state, polledAt: now, lag: .zero, error: error)
    }

    /// A status nobody has been told yet, or one that ends the watch.
    private func recorded(
        _ watch: Watch,
        _ observation: Observation,
        _ state: WatchState,
        _ polledAt: Timestamp,
        _ lag: Duration,
        _ now: Timestamp,
        _ chance: inout some RandomNumberGenerator
    ) -> PollDecision {
        let end = end(of: watch, observation)
        let event = Event(
            watch: watch,
            status: observation.status,
            final: end == .settled,
            closed: end,
            object: observation.object,
            polledAt: polledAt,
            lag: lag
        )
        var state = state
        state.status = observation.status
        state.step = 0
        if let end {
            let change = WatchChange(state: state, event: event)
            return PollDecision(verdict: .close(end), change: change)
        }
        // A change at the deadline leaves one more look, at once, which then closes the watch.
        let outlook = PollOutlook(watch, observation)
        let isAtOnce = now >= outlook.deadline || isChargedNext(watch, state)
        let wait = isAtOnce ? Duration.zero : waitUntilNext(watch, outlook, state, now, &chance)
        return PollDecision(
            verdict: .next(after: wait),
            change: WatchChange(state: state, event: event),
            isUrgent: isAtOnce || isUrgent(watch, outlook.deadline, now, due: now + wait)
        )
    }

    /// How a watch ends with what was seen; nil while its goal is not reached, or a charge is still
    /// to be made or answered.
    private func end(of watch: Watch, _ seen: Observation) -> ClosedReason? {
        guard watch.goal.isMet(by: seen.rank), !awaitsCharge(watch, seen) else { return nil }
        return seen.rank >= .steady ? .settled : .reached
    }

    /// Ends a watch whose goal has not been reached.
    func closed(
        _ watch: Watch,
        _ reason: ClosedReason,
        _ state: WatchState,
        polledAt: Timestamp,
        lag: Duration,
        error: String?,
        signal: LaneSignal = .fine
    ) -> PollDecision {
        let event = Event(
            watch: watch,
            status: state.status,
            final: true,
            closed: reason,
            object: nil,
            polledAt: polledAt,
            lag: lag
        )
        let change = WatchChange(state: state, event: event, lastError: error)
        return PollDecision(verdict: .close(reason), change: change, signal: signal)
    }

    /// Nothing new: look again, by the policy or eagerly, and on time for the deadline.
    func again(
        _ watch: Watch,
        _ outlook: PollOutlook,
        _ state: WatchState,
        _ now: Timestamp,
        error: String?,
        _ chance: inout some RandomNumberGenerator
    ) -> PollDecision {
        let wait = waitUntilNext(watch, outlook, state, now, &chance)
        return PollDecision(
            verdict: .next(after: wait),
            change: WatchChange(state: state, lastError: error),
            isUrgent: isUrgent(watch, outlook.deadline, now, due: now + wait)
        )
    }

    /// No answer: back off, but give up only when the grace after the deadline has passed.
    func failed(
        _ watch: Watch,
        _ state: WatchState,
        _ wait: Duration,
        _ polledAt: Timestamp,
        _ lag: Duration,
        _ now: Timestamp,
        error: String,
        _ signal: LaneSignal = .fine
    ) -> PollDecision {
        let end = watch.deadline + Self.grace(timeout: watch.deadline - watch.createdAt)
        if now >= end {
            return closed(
                watch,
                .expired,
                state,
                polledAt: polledAt,
                lag: lag,
                error: error,
                signal: signal
            )
        }
        let last = now < watch.deadline ? watch.deadline : end
        return PollDecision(
            verdict: .next(after: min(wait, last - now)),
            change: WatchChange(state: state, lastError: error),
            signal: signal,
            isUrgent: isUrgent(watch, watch.deadline, now, due: now + min(wait, last - now))
        )
    }

    /// Whether somebody waits for this watch: a customer in front of a page, one who has just
    /// come back, or the deadline.
    private func isUrgent(
        _ watch: Watch,
        _ deadline: Timestamp,
        _ now: Timestamp,
        due: Timestamp
    ) -> Bool {
        let isEager = watch.hintedAt.map { now < $0 + Self.eagerness } ?? false
        return isEager || watch.policy == .interactive || due >= deadline
    }

    private func waitUntilNext(
        _ watch: Watch,
        _ outlook: PollOutlook,
        _ state: WatchState,
        _ now: Timestamp,
        _ chance: inout some RandomNumberGenerator
    ) -> Duration {
        var wait = outlook.stretched(watch.policy.wait(step: state.step, using: &chance))
        if let hintedAt = watch.hintedAt, now < hintedAt + Self.eagerness {
            wait = min(wait, jittered(Self.eagerWait, &chance))
        }
        return outlook.bounded(wait, from: now)
    }

    /// Full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter").
    ///
    /// Anything from the least wait to 1 s · 2^failures, capped. At least 100 ms, so that no
    /// failure spins.
    func backoff(
        failures: Int,
        atLeast least: Duration?,
        _ chance: inout some RandomNumberGenerator
    ) -> Duration {
        let ceiling = min(
            Double(1 << min(failures, 20)),
            Self.failureWaitMax.inSeconds
        )
        let wait = Duration.milliseconds(
            Int64(Double.random(in: 0.1...ceiling, using: &chance) * 1000)
        )
        return max(wait, least ?? .zero)
    }

    func bounded(_ retryAfter: Duration?) -> Duration? {
        retryAfter.map { min(max($0, .zero), Self.retryAfterMax) }
    }

    private func jittered(
        _ wait: Duration,
        _ chance: inout some RandomNumberGenerator
    ) -> Duration {
        .milliseconds(Int64(wait.inSeconds * Double.random(in: 0.75...1.25, using: &chance) * 1000))
    }
}
