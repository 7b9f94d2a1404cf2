import JSONText
import PollerIdentity
package import PollerQueue

/// Decides what follows from a poll: the heart of the system, pure, and nothing else knows.
///
/// ``decide(_:_:using:)`` is its only entry. Its decisions on an `answer` of the upstream:
///
/// ```
/// observed, news           ─▶ event; final? close(settled) : goal? close(reached) : look again soon
/// observed, nothing new    ─▶ look again, each time later
/// rate limited             ─▶ the lane waits, then goes on at half its rate; the watch has not failed
/// object limited           ─▶ this watch backs off
/// lock timeout             ─▶ this watch waits a moment
/// unavailable              ─▶ full-jitter backoff; enough in a row open the lane's circuit
/// malformed                ─▶ full-jitter backoff; from many watches the circuit; after hours close(dead)
/// unauthorized             ─▶ full-jitter backoff; of different watches, enough in a row open the circuit
/// revoked                  ─▶ the same, for the whole account: operators are notified at once
/// unserved                 ─▶ this watch backs off, and another worker goes first
/// gone                     ─▶ asked again, soon after the enqueue for some seconds; then close(gone)
/// deadline passed          ─▶ after an answer close(expired); without one a grace, then the same
/// expired upstream         ─▶ a look at that instant and one a minute later, then close(expired)
/// hint after expired, gone ─▶ a minute of eager looks; without news closed as it was, and not told
/// hint after dead          ─▶ goes on as before, where only its answers were not understood
/// hint of money after an answer ─▶ a poll, and two more until a change is found; only the payment is reported
/// money not taken yet      ─▶ a look and a warning after half of the time for it, and at nine tenths
/// ```
///
/// Its decisions on the other cases of ``PollOutcome``; the whole tables are in the files named:
///
/// ```
/// charge answer            ─▶ its payment is reported; settled? close : the next poll (`PollDecider+charging`)
/// charged                  ─▶ the bank's answer is reported, or the charge is tried again (the same)
/// acted                    ─▶ the next poll reports the payment (`PollDecider+deadlines`)
/// refund postponed         ─▶ full-jitter backoff, and the refund is tried again
/// ```
///
/// News is another status, or the same with another ``Observation/detail``: a try that was declined,
/// money that arrived, another next step. So the last event shows an object no older than these.
///
/// A polling error never becomes a payment status: what we could not see, we do not tell.
///
/// *Why it is pure*: whatever it says is recorded, so its every rule must be shown by a test without
/// a store, a clock or an upstream. Time comes with the ``PollContext``, chance as a generator.
///
/// *Why errors wait with full jitter*: watches that fail together would otherwise come back together.
/// A lane that fails as a whole is the circuit's to hold (`LaneSignal`); what a watch adds up here
/// is its own.
///
/// *Why a deadline has a grace*: an upstream that is down at the deadline would turn every payment
/// that settled meanwhile into one that expired. A tenth of the timeout more, ten minutes at most,
/// gives it the time to answer.
package struct PollDecider: Sendable {
    /// How long after a hint a watch is polled eagerly: a customer has just come back.
    static let eagerness = Duration.seconds(60)
    /// The times after its hint at which a review without a change polls again.
    static let reviewAges: [Duration] = [.seconds(2), .seconds(10)]
    /// The longest wait of an eager watch, and of one whose object was locked.
    static let eagerWait = Duration.seconds(1)
    /// The longest wait of a watch whose upstream fails.
    static let failureWaitMax = Duration.seconds(60)
    /// How long a lane stays closed after a 429 that names no time: Stripe documents none.
    static let rateLimitHold = Duration.seconds(1)
    /// The most a receiver's `Retry-After` may ask for.
    static let retryAfterMax = Duration.seconds(3600)
    /// The longest that a watch outlives its deadline for want of an answer.
    static func grace(timeout: Duration) -> Duration {
        min(timeout / 10, .seconds(600))
    }

    /// How long answers that make no sense are no verdict about an object.
    let quarantineAfter: Duration

    /// A decider that gives an object up once its answers made no sense for so long.
    package init(quarantineAfter: Duration = Self.quarantineAfter) {
        self.quarantineAfter = quarantineAfter
    }

    /// Decides on the outcome of a poll.
    package func decide(
        _ context: PollContext,
        _ outcome: PollOutcome,
        using chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var decision =
            switch outcome {
            case .answer(let result): answered(context, result, &chance)
            case .chargeAnswer(let charge, let result):
                chargeAnswered(context, charge, result, &chance)
            case .charged(let seen, let result): charged(context, seen, result, &chance)
            case .acted(let seen, let act, let result): acted(context, seen, act, result, &chance)
            case .refundPostponed(_, let reason, let retryAfter):
                refundPostponed(context, reason, retryAfter, &chance)
            }
        decision.change.seesMoney = outcome.coversHint(of: context, decision)
        return decision
    }

    /// Decides on an answer about the watched object.
    func answered(
        _ context: PollContext,
        _ result: PollResult,
        _ chance: inout some RandomNumberGenerator
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
            let look = context.isSame(observation) ? nil : context.look(observation)
            if let end = end(of: context, observation), context.watch.isReview,
                !state.differs(from: observation)
            {
                return reviewed(context, look, state, as: end, object: observation.object)
            }
            if isNews(observation, look, context) {
                return recorded(context, observation, look, state, &chance)
            }
            let outlook = context.outlook(observation, look)
            if outlook.isOver(at: context.polledAt) {
                return closed(context, .expired, state, look, error: nil)
            }
            state.step += 1
            return again(context, outlook, state, look, error: nil, &chance)

        case .gone: return absent(context, state, &chance)
        case .malformed(let reason): return malformed(context, state, reason, &chance)
        case .unaskable(let reason): return unaskable(context, state, reason, &chance)
        case .objectLimited(let wait): return objectLimited(context, state, wait, &chance)

        case .rateLimited(let retryAfter):
            // A `Retry-After: 0` must not make the lane spin.
            let hold = max(bounded(retryAfter) ?? .zero, jittered(Self.rateLimitHold, &chance))
            let error = "rate limited by the upstream"
            state.growOld()
            return failed(context, state, .zero, error: error, .slow(hold))

        case .lockTimeout:
            let wait = jittered(Self.eagerWait, &chance)
            let error = "the object is locked upstream"
            state.growOld()
            return failed(context, state, wait, error: error)

        case .unauthorized(let reason):
            // One object that our key may not see is no reason to slow the others of its lane.
            let signal = state.failures == 0 ? LaneSignal.denied : .stillFailing
            return refused(context, state, reason, signal, &chance)
        case .revoked(let reason): return refused(context, state, reason, .revoked, &chance)

        case .unserved(let reason):
            // It is no sign of trouble in the lane: another worker may be configured for it.
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &chance)
            let silence = LaneSignal.hold(.zero)
            return failed(context, state, wait, error: reason, silence).leftToOthers

        case .unavailable(let reason, let retryAfter, let isAnswer):
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &chance)
            return failed(context, state, wait, error: reason, isAnswer ? .erring : .failing)
        }
    }

    /// Whether an observation of the watched object leads to an event.
    func isReported(_ seen: Observation, _ context: PollContext) -> Bool {
        let look = context.isSame(seen) ? nil : context.look(seen)
        if isNews(seen, look, context) { return true }
        return !context.watch.isOnlyLooking
            && context.outlook(seen, look).isOver(at: context.polledAt)
    }

    /// Whether an observation has something that was not reported before, or ends the watch.
    private func isNews(_ seen: Observation, _ look: PaymentLook?, _ context: PollContext) -> Bool {
        context.watch.state.differs(from: seen) || end(of: context, seen) != nil
            || look?.isNews == true
    }

    /// Something nobody has been told yet, or a status that ends the watch.
    func recorded(
        _ context: PollContext,
        _ observation: Observation,
        _ seen: PaymentLook?,
        _ before: WatchState,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let watch = context.watch
        let end = end(of: context, observation)
        let isStatusNews = before.differs(from: observation)
        let look = seen ?? context.look(observation)
        let events = context.events(
            look,
            isStatusNews || end != nil ? .status : nil,
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
            payment: look?.memory,
            secret: context.learned(from: observation.object),
            events: events
        )
        if let end { return Decision(verdict: .close(end), change: change) }
        // A change at the deadline leaves one more look, at once, which then closes the watch.
        let outlook = context.outlook(observation, look)
        let isAtOnce =
            context.now >= outlook.deadline || isChargedNext(watch, state)
            || context.isActedOnNext(observation, look)
        let wait = isAtOnce ? Duration.zero : waitUntilNext(context, outlook, state, &chance)
        return Decision(
            verdict: .next(after: wait),
            change: change,
            isUrgent: isAtOnce || context.isUrgent(after: wait, deadline: outlook.deadline)
        )
    }

    /// Ends a watch that was opened again as it had ended, with what is new of its payment alone.
    func reviewed(
        _ context: PollContext,
        _ look: PaymentLook?,
        _ state: WatchState,
        as reason: ClosedReason,
        object: RawJSON?
    ) -> Decision<WatchChange> {
        let events = context.events(
            look,
            nil,
            status: state.status,
            final: reason == .settled,
            closed: reason,
            progress: state.charge,
            object: object
        )
        if events.isEmpty, let wait = reviewWait(context) {
            let memory = look?.memory == context.watch.payment ? nil : look?.memory
            return Decision(
                verdict: .next(after: wait),
                change: WatchChange(state: state, payment: memory),
                isUrgent: context.isUrgent(after: wait, deadline: context.watch.end),
                isNews: false
            )
        }
        return Decision(
            verdict: .close(reason),
            change: WatchChange(state: state, payment: look?.memory, events: events),
            isNews: !events.isEmpty
        )
    }

    /// The time until a review without a change polls again; nil after the last poll.
    ///
    /// The upstream's answer may be some seconds older than the event behind the hint, and no other hint follows.
    private func reviewWait(_ context: PollContext) -> Duration? {
        guard let hintedAt = context.watch.hintedAt, hintedAt <= context.now else { return nil }
        let age = context.now - hintedAt
        return Self.reviewAges.lazy.map { $0 - age }.first { $0 >= .milliseconds(500) }
    }

    /// How a watch ends with what was seen; nil while its goal is not reached, a charge is still to be
    /// made or answered, or a hold to be acted on.
    private func end(of context: PollContext, _ seen: Observation) -> ClosedReason? {
        guard context.watch.goal.isMet(by: seen.rank), !awaitsCharge(context.watch, seen),
            !context.awaitsAct(seen.status)
        else { return nil }
        return seen.rank >= .steady ? .settled : .reached
    }

    /// Ends a watch whose goal has not been reached.
    ///
    /// One that a hint had opened again, and that has seen nothing new, ends as it had ended: that
    /// was told then.
    func closed(
        _ context: PollContext,
        _ reason: ClosedReason,
        _ state: WatchState,
        _ look: PaymentLook? = nil,
        error: String?,
        signal: LaneSignal = .fine
    ) -> Decision<WatchChange> {
        let isTold = context.watch.isOnlyLooking && reason.opensOnHint
        let reason = isTold ? context.watch.endedAs ?? reason : reason
        let events = context.events(
            look,
            isTold ? nil : .status,
            status: state.status,
            final: true,
            closed: reason,
            progress: state.charge
        )
        let change = WatchChange(
            state: state,
            payment: look?.memory,
            events: events,
            lastError: error
        )
        // A lane that slows down must know before its next claim.
        let isNews = !isTold || signal != .fine
        return Decision(verdict: .close(reason), change: change, signal: signal, isNews: isNews)
    }

    /// Nothing new: look again, by the policy or eagerly, and on time for the deadline.
    func again(
        _ context: PollContext,
        _ outlook: PollOutlook,
        _ state: WatchState,
        _ look: PaymentLook? = nil,
        error: String?,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let wait = waitUntilNext(context, outlook, state, &chance)
        return Decision(
            verdict: .next(after: wait),
            // What is remembered already needs no writing.
            change: WatchChange(
                state: state,
                payment: look?.memory == context.watch.payment ? nil : look?.memory,
                lastError: error
            ),
            isUrgent: context.isUrgent(after: wait, deadline: outlook.deadline),
            isNews: false
        )
    }

    private func waitUntilNext(
        _ context: PollContext,
        _ outlook: PollOutlook,
        _ state: WatchState,
        _ chance: inout some RandomNumberGenerator
    ) -> Duration {
        let (watch, now) = (context.watch, context.now)
        let age = now - watch.createdAt
        let plain = watch.policy.wait(
            step: state.step,
            age: age,
            hinted: watch.hintedAt.map { now - $0 },
            using: &chance
        )
        var wait = outlook.stretched(plain, at: now)
        if watch.isEager(at: now) { wait = min(wait, jittered(Self.eagerWait, &chance)) }
        return outlook.bounded(wait, from: now)
    }

    func jittered(
        _ wait: Duration,
        _ chance: inout some RandomNumberGenerator
    ) -> Duration {
        let share = Double.random(in: 0.75...1.25, using: &chance)
        return .milliseconds(saturating: wait.inSeconds * share * 1000)
    }
}
