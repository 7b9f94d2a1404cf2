import JSONText
import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches

/// Decides on the next step of a watch after a poll, as a pure function.
///
/// ``decide(_:_:using:)`` is its only entry. Its decisions on an `answer` of the upstream:
///
/// ```
/// observed, changed        ─▶ event; final? close(settled) : goal? close(reached) : poll again soon
/// observed, unchanged      ─▶ poll again, each time later
/// rate limited             ─▶ the lane waits, then continues at half its rate; not a failure of the watch
/// object limited           ─▶ this watch backs off
/// lock timeout             ─▶ this watch waits a moment
/// unavailable              ─▶ full-jitter backoff; enough in a row open the lane's circuit
/// malformed                ─▶ full-jitter backoff; from many watches the circuit; after hours close(dead)
/// unauthorized             ─▶ full-jitter backoff; of different watches, enough in a row open the circuit
/// revoked                  ─▶ the same, for the whole account: operators are notified at once
/// unserved                 ─▶ this watch backs off, and another worker goes first
/// gone                     ─▶ polled again, soon after the enqueue for some seconds; then close(gone)
/// deadline passed          ─▶ after an answer close(expired); without one a grace, then the same
/// expired upstream         ─▶ a poll at that instant and one a minute later, then close(expired)
/// hint after expired, gone ─▶ a minute of eager polls; without a change closed as before, no event
/// hint after dead          ─▶ resumes, if only its answers were unreadable
/// hint of money after an answer ─▶ a poll, and two more until a change is found; only the payment is reported
/// money not taken yet      ─▶ a poll and a warning after half of the time for it, and at nine tenths
/// ```
///
/// Its decisions on the other cases of ``PollOutcome``; the complete tables are in the named files:
///
/// ```
/// charge answer            ─▶ its payment is reported; settled? close : the next poll (`PollDecider+charging`)
/// charged                  ─▶ the bank's answer is reported, or the charge is tried again (the same)
/// acted                    ─▶ the next poll reports the payment (`PollDecider+deadlines`)
/// refund postponed         ─▶ full-jitter backoff, and the refund is tried again
/// ```
///
/// A change is a different status, or the same status with a different ``Observation/detail``: a declined attempt,
/// received money, another next step. The last event therefore shows an object no older than these.
///
/// A polling error never becomes a payment status.
///
/// *Why it is pure*: its decisions are recorded, so a test must be able to show every rule without a store, a clock or
/// an upstream. The ``PollContext`` supplies the time, and a generator the randomness.
///
/// *Why errors wait with full jitter*: watches that fail together would otherwise retry together. The circuit holds a
/// lane that fails as a whole (`LaneSignal`). This type counts only the failures of one watch.
///
/// *Why a deadline has a grace*: if an upstream is down at the deadline, every payment that settled meanwhile would be
/// reported as expired. The grace is a tenth of the timeout, ten minutes at most.
package struct PollDecider: Sendable {
    /// The ages of a hint at which an unchanged review polls again.
    static let reviewAges: [Duration] = [.seconds(2), .seconds(10)]
    /// The longest wait of an eager watch, and of a watch whose object was locked.
    static let eagerWait = Duration.seconds(1)
    /// The longest wait of a watch whose upstream fails.
    static let failureWaitMax = Duration.seconds(60)
    /// The hold of a lane after a 429 without `Retry-After`.
    ///
    /// Stripe documents none.
    static let rateLimitHold = Duration.seconds(1)
    /// The longest `Retry-After` that is obeyed.
    static let retryAfterMax = Duration.seconds(3600)
    /// Returns the longest time that an unanswered watch continues after its deadline.
    static func grace(timeout: Duration) -> Duration {
        min(timeout / 10, .seconds(600))
    }

    /// The time of unreadable answers after which an object is quarantined.
    let quarantineAfter: Duration

    /// Creates a decider that quarantines a watch after this time of unreadable answers.
    package init(quarantineAfter: Duration = Self.quarantineAfter) {
        self.quarantineAfter = quarantineAfter
    }

    /// Decides on the outcome of a poll.
    package func decide(
        _ context: PollContext,
        _ outcome: PollOutcome,
        using generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var decision =
            switch outcome {
            case .answer(let result): answered(context, result, &generator)
            case .chargeAnswer(let charge, let result):
                chargeAnswered(context, charge, result, &generator)
            case .charged(let seen, let result): charged(context, seen, result, &generator)
            case .acted(let seen, let act, let result):
                acted(context, seen, act, result, &generator)
            case .refundPostponed(_, let reason, let retryAfter):
                refundPostponed(context, reason, retryAfter, &generator)
            }
        decision.change.seesMoney = outcome.coversHint(of: context, decision)
        decision.change.hasCharged = outcome.hasCharged(context.watch)
        return decision
    }

    /// Decides on an answer about the watched object.
    func answered(
        _ context: PollContext,
        _ result: PollResult,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.streak = context.streak(with: result)

        switch result {
        case .malformed, .unaskable: break
        default: state.malformed = 0
        }

        switch result {
        case .observed(let observation):
            state.failures = 0
            let reading = context.isSame(observation) ? nil : context.reading(observation)
            if let end = end(of: context, observation), context.watch.isReview,
                !state.differs(from: observation)
            {
                return reviewed(context, reading, state, as: end, object: observation.object)
            }
            if hasChanges(observation, reading, context) {
                return recorded(context, observation, reading, state, &generator)
            }
            let limits = context.limits(observation, reading)
            if limits.isOver(at: context.polledAt) {
                return closed(context, .expired, state, reading, error: nil)
            }
            state.step += 1
            return again(context, limits, state, reading, error: nil, &generator)

        case .gone: return absent(context, state, &generator)
        case .malformed(let reason): return malformed(context, state, reason, &generator)
        case .unaskable(let reason): return unaskable(context, state, reason, &generator)
        case .objectLimited(let wait): return objectLimited(context, state, wait, &generator)

        case .rateLimited(let retryAfter):
            // A `Retry-After: 0` must not make the lane spin.
            let hold = max(bounded(retryAfter) ?? .zero, jittered(Self.rateLimitHold, &generator))
            let error = "rate limited by the upstream"
            state.markOutdated()
            return failed(context, state, .zero, error: error, .slow(hold))

        case .lockTimeout:
            let wait = jittered(Self.eagerWait, &generator)
            let error = "the object is locked upstream"
            state.markOutdated()
            return failed(context, state, wait, error: error)

        case .unauthorized(let reason):
            // An object that our key may not read must not slow the other watches of its lane.
            let signal = state.failures == 0 ? LaneSignal.denied : .stillFailing
            return refused(context, state, reason, signal, &generator)
        case .revoked(let reason): return refused(context, state, reason, .revoked, &generator)

        case .unserved(let reason):
            // The lane is healthy: another worker may be configured for the account.
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &generator)
            let silence = LaneSignal.hold(.zero)
            return failed(context, state, wait, error: reason, silence).preferringOtherProcesses

        case .unavailable(let reason, let retryAfter, let isAnswer):
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &generator)
            return failed(context, state, wait, error: reason, isAnswer ? .erring : .failing)
        }
    }

    /// Whether an observation of the watched object leads to an event.
    func causesEvent(_ seen: Observation, _ context: PollContext) -> Bool {
        let reading = context.isSame(seen) ? nil : context.reading(seen)
        if hasChanges(seen, reading, context) { return true }
        return !context.watch.isUnchangedSinceReopen
            && context.limits(seen, reading).isOver(at: context.polledAt)
    }

    /// Whether an observation contains a change that was not reported, or ends the watch.
    private func hasChanges(
        _ seen: Observation,
        _ reading: PaymentReading?,
        _ context: PollContext
    ) -> Bool {
        context.watch.state.differs(from: seen) || end(of: context, seen) != nil
            || reading?.hasChanges == true
    }

    /// Records an observation with a change, or with a status that ends the watch.
    func recorded(
        _ context: PollContext,
        _ observation: Observation,
        _ seen: PaymentReading?,
        _ before: WatchState,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let watch = context.watch
        let end = end(of: context, observation)
        let hasStatusChange = before.differs(from: observation)
        let reading = seen ?? context.reading(observation)
        let events = context.events(
            reading,
            hasStatusChange || end != nil ? .status : nil,
            status: observation.status,
            final: end == .settled,
            closed: end,
            object: observation.object
        )
        var state = before
        state.status = observation.status
        state.detail = observation.detail
        state.step = 0
        let change = WatchChange(
            state: state,
            payment: reading?.memory,
            secret: context.learned(from: observation.object),
            events: events
        )
        if let end { return Decision(verdict: .close(end), change: change) }
        // A change at the deadline leaves one more immediate poll, which closes the watch.
        let limits = context.limits(observation, reading)
        let isAtOnce =
            context.now >= limits.deadline || isChargedNext(watch, state)
            || context.isActedOnNext(observation, reading)
        let wait = isAtOnce ? Duration.zero : waitUntilNext(context, limits, state, &generator)
        return Decision(
            verdict: .next(after: wait),
            change: change,
            isUrgent: isAtOnce || context.isUrgent(after: wait, deadline: limits.deadline)
        )
    }

    /// Closes a reopened watch with its earlier reason, and reports only the change of its payment.
    func reviewed(
        _ context: PollContext,
        _ reading: PaymentReading?,
        _ state: WatchState,
        as reason: ClosedReason,
        object: RawJSON?
    ) -> Decision<WatchChange> {
        let events = context.events(
            reading,
            nil,
            status: state.status,
            final: reason == .settled,
            closed: reason,
            progress: state.charge,
            object: object
        )
        if events.isEmpty, let wait = reviewWait(context) {
            let memory = reading?.memory == context.watch.payment ? nil : reading?.memory
            return Decision(
                verdict: .next(after: wait),
                change: WatchChange(state: state, payment: memory),
                isUrgent: context.isUrgent(after: wait, deadline: context.watch.end),
                commitsAtOnce: false
            )
        }
        return Decision(
            verdict: .close(reason),
            change: WatchChange(state: state, payment: reading?.memory, events: events),
            commitsAtOnce: !events.isEmpty
        )
    }

    /// Returns the time until a review without a change polls again; `nil` after the last poll.
    ///
    /// The upstream's answer may be some seconds older than the event behind the hint, and no other hint follows.
    private func reviewWait(_ context: PollContext) -> Duration? {
        guard let hintedAt = context.watch.hintedAt, hintedAt <= context.now else { return nil }
        let age = context.now - hintedAt
        return Self.reviewAges.lazy.map { $0 - age }.first { $0 >= .milliseconds(500) }
    }

    /// Returns the close reason after an observation; `nil` while the goal is not reached, a charge is pending, or a
    /// hold needs an action.
    private func end(of context: PollContext, _ seen: Observation) -> ClosedReason? {
        guard context.watch.goal.isMet(by: seen.rank), !awaitsCharge(context.watch, seen),
            !context.awaitsAct(seen.status)
        else { return nil }
        return seen.rank >= .steady ? .settled : .reached
    }

    /// Closes a watch whose goal has not been reached.
    ///
    /// A watch that a hint reopened and that has not changed closes with its earlier reason, without an event: the
    /// reason was reported then.
    func closed(
        _ context: PollContext,
        _ reason: ClosedReason,
        _ state: WatchState,
        _ reading: PaymentReading? = nil,
        error: String?,
        signal: LaneSignal = .fine
    ) -> Decision<WatchChange> {
        let wasReported = context.watch.isUnchangedSinceReopen && reason.opensOnHint
        let reason = wasReported ? context.watch.endedAs ?? reason : reason
        let events = context.events(
            reading,
            wasReported ? nil : .status,
            status: state.status,
            final: true,
            closed: reason,
            progress: state.charge
        )
        let change = WatchChange(
            state: state,
            payment: reading?.memory,
            events: events,
            lastError: error
        )
        // A lane that slows down must know before its next claim.
        let commitsAtOnce = !wasReported || signal != .fine
        return Decision(
            verdict: .close(reason),
            change: change,
            signal: signal,
            commitsAtOnce: commitsAtOnce
        )
    }

    /// Handles an unchanged observation: the watch is polled again by its policy or eagerly, and on time for the
    /// deadline.
    func again(
        _ context: PollContext,
        _ limits: PollLimits,
        _ state: WatchState,
        _ reading: PaymentReading? = nil,
        error: String?,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let wait = waitUntilNext(context, limits, state, &generator)
        return Decision(
            verdict: .next(after: wait),
            // Stored values are not written again.
            change: WatchChange(
                state: state,
                payment: reading?.memory == context.watch.payment ? nil : reading?.memory,
                lastError: error
            ),
            isUrgent: context.isUrgent(after: wait, deadline: limits.deadline),
            commitsAtOnce: false
        )
    }

    private func waitUntilNext(
        _ context: PollContext,
        _ limits: PollLimits,
        _ state: WatchState,
        _ generator: inout some RandomNumberGenerator
    ) -> Duration {
        let (watch, now) = (context.watch, context.now)
        let age = now - watch.createdAt
        let plain = watch.policy.wait(
            step: state.step,
            age: age,
            hinted: watch.hintedAt.map { now - $0 },
            using: &generator
        )
        var wait = limits.stretched(plain, at: now)
        if watch.isEager(at: now) { wait = min(wait, jittered(Self.eagerWait, &generator)) }
        return limits.bounded(wait, from: now)
    }

    func jittered(
        _ wait: Duration,
        _ generator: inout some RandomNumberGenerator
    ) -> Duration {
        let share = Double.random(in: 0.75...1.25, using: &generator)
        return .milliseconds(saturating: wait.inSeconds * share * 1000)
    }
}
