package import PollerIdentity
package import PollerQueue
package import PollerWatches

// Decisions on answers that contain no payment status.
//
// ```
// unreadable: a page of a proxy, a redirect ─▶ the watch backs off, a minute at most, later ten
//   for the first time                      ─▶ the lane counts it: ten watches open the circuit
//   from the same watch again               ─▶ the lane does not; an open circuit is held longer
//   for half a day, the circuit closed      ─▶ close(dead): only this object is unreadable
// not found (404), soon after the enqueue   ─▶ polled again within a second, then ever later
// not found, later                          ─▶ polled again after ten seconds
//   not found by the second poll either     ─▶ close(gone)
// limited, this object only (429)           ─▶ the watch backs off; the lane keeps its rate
// cannot be polled at all                   ─▶ five attempts: close(dead)
// ```
//
// *Why so late*: an outage is not a verdict about a payment. During an outage, other systems may answer for the
// upstream, sometimes for hours: a maintenance page, a login, a load balancer without servers. A quarantined watch is
// not polled, and its payment is not reported.
//
// *Why a 404 is confirmed by a second poll*: an upstream with replicas may answer from one that does not have the
// object yet. The shop enqueues it within milliseconds of its creation.

extension PollDecider {
    /// The time of unreadable answers about one object before an operator must act.
    ///
    /// It is longer than the outages that status pages report.
    package static let quarantineAfter = Duration.seconds(12 * 3600)
    /// The minimum number of consecutive unreadable answers before an operator must act.
    static let malformedMin = 5
    /// The longest wait of a watch after ``malformedMany`` unreadable answers.
    static let malformedWaitMax = Duration.seconds(600)
    /// The number of unreadable answers in about ten minutes.
    static let malformedMany = 20
    /// The time after the enqueue in which an object may not be readable yet.
    ///
    /// Reports mention one to five seconds. *Source*: issues of plugins for Stripe; Stripe documents no limit.
    static let absenceGrace = Duration.seconds(15)
    /// The wait after a 404 before the poll that confirms it.
    static let absencePause = Duration.seconds(10)

    /// Handles an unreadable answer.
    func malformed(
        _ context: PollContext,
        _ before: WatchState,
        _ reason: String,
        _ generator: inout some RandomNumberGenerator
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
        let wait = backoff(failures: state.failures, atLeast: nil, atMost: most, &generator)
        return failed(context, state, wait, error: reason, signal)
    }

    /// Handles an answer that refuses our credentials for it.
    func refused(
        _ context: PollContext,
        _ before: WatchState,
        _ reason: String,
        _ signal: LaneSignal,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: nil, &generator)
        // The text does not promise another attempt, because it is also read after the end.
        return failed(context, state, wait, error: "credentials refused: \(reason)", signal)
    }

    /// Handles a poll that no process can send.
    func unaskable(
        _ context: PollContext,
        _ before: WatchState,
        _ reason: String,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        state.failures += 1
        state.malformed += 1
        // The result says nothing about the lane.
        let silence = LaneSignal.hold(.zero)
        if state.malformed >= Self.malformedMin {
            let error = "cannot be polled: \(reason)"
            // A hint cannot fix this, so the watch waits for an operator.
            state.understood()
            return closed(context, .dead, state, error: error, signal: silence)
        }
        let wait = backoff(failures: state.failures, atLeast: nil, &generator)
        return failed(context, state, wait, error: reason, silence)
    }

    /// Handles an object that the upstream does not know yet, or does not know any more.
    func absent(
        _ context: PollContext,
        _ state: WatchState,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let watch = context.watch
        let since = state.streak?.since ?? context.polledAt
        let span = context.polledAt - since
        let graceEnd = watch.createdAt + Self.absenceGrace
        let isYoung = context.polledAt < graceEnd
        // A reopened watch either was unknown before or is known to have ended.
        let isOver = watch.isUnchangedSinceReopen && !watch.isEager(at: context.polledAt)
        if (!isYoung && span >= Self.absencePause / 2) || isOver || context.now >= watch.end {
            let error = "the upstream does not know this source (404): check id, account and mode"
            return closed(context, .gone, state, error: error)
        }
        var wait = Self.absencePause
        if isYoung { wait = min(max(.seconds(1), span / 2), graceEnd - context.polledAt) }
        let error = "the upstream does not know this source (404); retrying"
        return failed(
            context,
            state,
            max(jittered(wait, &generator), .milliseconds(100)),
            error: error
        )
    }

    /// Handles a rate limit on this object.
    func objectLimited(
        _ context: PollContext,
        _ before: WatchState,
        _ retryAfter: Duration?,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = before
        state.markOutdated()
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &generator)
        let error = "the upstream limits requests for this object (429)"
        return failed(context, state, wait, error: error)
    }

    /// Handles a failed poll: the watch backs off, and closes only when the grace after the deadline has passed.
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
            commitsAtOnce: signal != .fine
        )
    }

    /// Returns a wait with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter").
    ///
    /// The wait is between the minimum and 1 s · 2^failures, capped. It is at least 100 ms, so that no failure causes a
    /// busy loop.
    func backoff(
        failures: Int,
        atLeast least: Duration?,
        atMost most: Duration = Self.failureWaitMax,
        _ generator: inout some RandomNumberGenerator
    ) -> Duration {
        let doubled = Double(1 << min(max(failures, 0), 20))
        let ceiling = min(doubled, most.inSeconds)
        let seconds = Double.random(in: 0.1...ceiling, using: &generator)
        let wait = Duration.milliseconds(saturating: seconds * 1000)
        return max(wait, least ?? .zero)
    }

    func bounded(_ retryAfter: Duration?) -> Duration? {
        retryAfter.map { min(max($0, .zero), Self.retryAfterMax) }
    }

    /// Quarantines a watch whose workers all died: it is not polled again until an operator acts.
    package func poisoned(_ watch: Watch, crashes: Int, now: Timestamp) -> Decision<WatchChange> {
        let error =
            "\(crashes) workers in a row ended while polling it; it is not polled "
            + "again until an operator redrives it"
        let context = PollContext(watch, due: now, polledAt: now, now: now)
        var state = watch.state
        // A hint must not reopen it: only watches with unreadable answers resume automatically.
        state.understood()
        return closed(context, .dead, state, error: error)
    }
}
