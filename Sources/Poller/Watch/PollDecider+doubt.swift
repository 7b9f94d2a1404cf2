package import PollerIdentity
package import PollerQueue

// What follows from answers that say nothing of the payment.
//
// ```
// no sense: a page of a proxy, a redirect ─▶ the watch backs off, a minute at most, later ten
//   for the first time                    ─▶ the lane counts it: ten watches open the circuit
//   from the same watch again             ─▶ the lane does not; an open circuit is held longer
//   for half a day, the circuit closed    ─▶ close(dead): this object alone is not understood
// not known (404), soon after the enqueue ─▶ asked again within a second, then ever later
// not known, later                        ─▶ asked again after ten seconds
//   not known by the second poll either   ─▶ close(gone)
// limited, this object alone (429)        ─▶ the watch backs off; the lane goes on at its rate
// cannot be asked at all                  ─▶ five tries: close(dead)
// ```
//
// *Why so late*: an outage is not a verdict about a payment. Whatever stands between us and the upstream
// answers for it: a maintenance page, a login, a load balancer without servers, for hours sometimes. A watch
// that was given up for that is polled by no one, and its payment is reported by no one.
//
// *Why a 404 is asked about twice*: an upstream with replicas answers reads from one that may not have the
// object yet. The shop enqueues it within milliseconds of its creation.

extension PollDecider {
    /// How long the answers about one object make no sense before a person must look: long enough for
    /// the outages that a status page reports.
    package static let quarantineAfter = Duration.seconds(12 * 3600)
    /// Answers in a row that are not understood, at the least, before a person must look.
    static let malformedMin = 5
    /// The longest wait of a watch whose answers make no sense, once there were ``malformedMany``.
    static let malformedWaitMax = Duration.seconds(600)
    /// Some ten minutes of them.
    static let malformedMany = 20
    /// How long after it was enqueued an object may not be readable yet.
    ///
    /// Reports tell of one to five seconds. *Source*: issues of plugins for Stripe; Stripe documents none.
    static let absenceGrace = Duration.seconds(15)
    /// How long after a 404 the upstream is asked again, to confirm it.
    static let absencePause = Duration.seconds(10)

    /// An answer that makes no sense.
    func malformed(
        _ context: PollContext,
        _ before: WatchState,
        _ reason: String,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        let signal = state.malformed == 0 ? LaneSignal.garbled : .stillGarbled
        state.failures += 1
        state.malformed += 1
        let since = state.streak?.since ?? context.polledAt
        if state.malformed >= Self.malformedMin, context.polledAt - since >= quarantineAfter,
            !context.isLaneDown
        {
            let error = "not understood \(state.malformed) times: \(reason)"
            return closed(context, .dead, state, error: error, signal: .hold(.zero))
        }
        let most =
            state.malformed < Self.malformedMany ? Self.failureWaitMax : Self.malformedWaitMax
        let wait = backoff(failures: state.failures, atLeast: nil, atMost: most, &chance)
        return failed(context, state, wait, error: reason, signal)
    }

    /// Handles an answer that refuses our credentials for it.
    func refused(
        _ context: PollContext,
        _ before: WatchState,
        _ reason: String,
        _ signal: LaneSignal,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: nil, &chance)
        // The schedule decides the next attempt: this text is read after the end, too.
        return failed(context, state, wait, error: "credentials refused: \(reason)", signal)
    }

    /// A poll that could not be sent by any process.
    func unaskable(
        _ context: PollContext,
        _ before: WatchState,
        _ reason: String,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        state.failures += 1
        state.malformed += 1
        // It says nothing about the lane.
        let silence = LaneSignal.hold(.zero)
        if state.malformed >= Self.malformedMin {
            let error = "cannot be polled: \(reason)"
            // A hint changes nothing about that: the watch waits for a person.
            state.understood()
            return closed(context, .dead, state, error: error, signal: silence)
        }
        let wait = backoff(failures: state.failures, atLeast: nil, &chance)
        return failed(context, state, wait, error: reason, silence)
    }

    /// The upstream does not know the object: not yet, or not any more.
    func absent(
        _ context: PollContext,
        _ state: WatchState,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let watch = context.watch
        let since = state.streak?.since ?? context.polledAt
        let span = context.polledAt - since
        let graceEnd = watch.createdAt + Self.absenceGrace
        let isYoung = context.polledAt < graceEnd
        // What a hint has opened again was not known before either, or was known to have ended.
        let isOver = watch.isOnlyLooking && !watch.isEager(at: context.polledAt)
        if (!isYoung && span >= Self.absencePause / 2) || isOver || context.now >= watch.end {
            let error = "the upstream does not know this source (404): check id, account and mode"
            return closed(context, .gone, state, error: error)
        }
        var wait = Self.absencePause
        if isYoung { wait = min(max(.seconds(1), span / 2), graceEnd - context.polledAt) }
        let error = "the upstream does not know this source (404); it is asked again"
        return failed(
            context,
            state,
            max(jittered(wait, &chance), .milliseconds(100)),
            error: error
        )
    }

    /// The upstream limits requests for this object alone.
    func objectLimited(
        _ context: PollContext,
        _ before: WatchState,
        _ retryAfter: Duration?,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        state.growOld()
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &chance)
        let error = "the upstream limits requests for this object (429)"
        return failed(context, state, wait, error: error)
    }

    /// No answer: back off, but give up only when the grace after the deadline has passed.
    func failed(
        _ context: PollContext,
        _ state: WatchState,
        _ wait: Duration,
        error: String,
        _ signal: LaneSignal = .fine
    ) -> Decision<WatchChange> {
        let (watch, now) = (context.watch, context.now)
        let end = watch.end + Self.grace(timeout: watch.deadline - watch.createdAt)
        if now >= end { return closed(context, .expired, state, error: error, signal: signal) }
        let last = now < watch.end ? watch.end : end
        let bounded = min(wait, last - now)
        return Decision(
            verdict: .next(after: bounded),
            change: WatchChange(state: state, lastError: error),
            signal: signal,
            isUrgent: context.isUrgent(after: bounded, deadline: watch.end),
            isNews: signal != .fine
        )
    }

    /// Full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter").
    ///
    /// Anything from the least wait to 1 s · 2^failures, capped. At least 100 ms, so that no
    /// failure spins.
    func backoff(
        failures: Int,
        atLeast least: Duration?,
        atMost most: Duration = Self.failureWaitMax,
        _ chance: inout some RandomNumberGenerator
    ) -> Duration {
        let doubled = Double(1 << min(max(failures, 0), 20))
        let ceiling = min(doubled, most.inSeconds)
        let seconds = Double.random(in: 0.1...ceiling, using: &chance)
        let wait = Duration.milliseconds(saturating: seconds * 1000)
        return max(wait, least ?? .zero)
    }

    func bounded(_ retryAfter: Duration?) -> Duration? {
        retryAfter.map { min(max($0, .zero), Self.retryAfterMax) }
    }

    /// Decides on a watch whose every holder died: it is not polled again before a person looks.
    package func poisoned(_ watch: Watch, crashes: Int, now: Timestamp) -> Decision<WatchChange> {
        let error =
            "\(crashes) workers in a row ended without a word while they polled it; it is not tried "
            + "again before somebody redrives it"
        let context = PollContext(watch, due: now, polledAt: now, now: now)
        var state = watch.state
        // A hint must not open it: only what was not understood goes on by itself.
        state.understood()
        return closed(context, .dead, state, error: error)
    }
}
