package import PollerIdentity
package import PollerQueue
package import PollerWatches

/// Decides on the next step of a delivery after an attempt, as a pure function.
///
/// The life of an event at an endpoint:
/// 1. Attempted and accepted: the cursor moves past it, and the circuit of the endpoint closes.
/// 2. Failed: tried again by the schedule. A failure between two scheduled attempts (a new event was recorded) or of a
///    probe of an open circuit does not count towards the schedule. Nor does a local error, such as an
///    unavailable store, which is tried again soon, for at least the span of the webhook schedule.
/// 3. `Retry-After` holds the whole endpoint, up to an hour.
/// 4. The last attempt failed, or the span of the schedule passed while the circuit was open: given up. The recipient
///    will never accept it: rejected. Both stay in the delivery as dead letters, which can be sent again.
package struct DeliveryDecider: Sendable {
    /// The hold of an endpoint that answered 410.
    private static let goneHold = Duration.seconds(3600)

    /// The wait after a local error, as a schedule with the usual jitter.
    private static let ownErrorPause = RetrySchedule(waits: [.seconds(30)])

    /// The longest delay of a put-off delivery after its fallback was due.
    private static let lateMax = SlowRecipientLimiter.pause.upperBound

    private let schedule: RetrySchedule
    /// The span after which the fallback receives the event; `nil` without a fallback.
    private let notifyBy: Duration?

    package init(schedule: RetrySchedule, notifyBy: Duration? = nil) {
        self.schedule = schedule
        self.notifyBy = notifyBy
    }

    /// Decides on `result`.
    ///
    /// - Parameters:
    ///   - state: the delivery before the attempt.
    ///   - event: the event of the attempt.
    ///   - result: the result of the attempt.
    ///   - outage: the endpoint's failures when the delivery was claimed.
    ///   - more: whether events may be pending after this one.
    ///   - now: the store's time.
    ///   - generator: the generator for the jitter.
    /// - Returns: the change to record, and its effect on the endpoint.
    package func decide(
        _ state: DeliveryState,
        _ event: Event,
        _ result: AttemptResult,
        outage: LaneOutage?,
        more: Bool,
        now: Timestamp,
        generator: inout some RandomNumberGenerator
    ) -> DeliveryDecision {
        var next = state
        next.attempts += 1
        switch result.outcome {
        case .delivered:
            next.settle(event.seq, digest: event.digest)
            return ended(.delivered, next, event, .fine, more)
        case .skipped:
            next.settle(event.seq, digest: event.digest)
            return ended(.skipped, next, event, .hold(.zero), more)
        case .rejected:
            next.deadLetter(event.seq, digest: event.digest)
            return ended(.rejected, next, event, signal(result), more)
        case .failed: break
        }
        let failedSince = state.failedSince ?? now
        next.failedSince = failedSince
        let isExtra = state.retryAt.map { now < $0 } ?? false
        let isProbe = outage?.isProbed ?? false
        if !isExtra, !isProbe, !result.isOwnError { next.failures += 1 }
        let planned: Duration?
        if isExtra, let retryAt = state.retryAt {
            // Limited to the longest possible wait, because the store's clock may have been set back since.
            let longest = max(schedule.longest(failures: next.failures), RetryAfter.longest)
            planned = min(retryAt - now, longest)
        } else if result.isOwnError,
            let wait = ownErrorWait(
                failures: state.failures,
                span: now - failedSince,
                using: &generator
            )
        {
            planned = wait
        } else if isProbe, now - max(failedSince, outage?.since ?? failedSince) >= schedule.span {
            planned = nil
        } else {
            // A local error that lasts for longer than a schedule counts, or the event would be kept for ever.
            if result.isOwnError, !isProbe { next.failures += 1 }
            planned = schedule.wait(failures: max(next.failures, 1), using: &generator)
        }
        guard let planned else {
            next.deadLetter(event.seq, digest: event.digest)
            return ended(.deadLettered, next, event, signal(result), more)
        }
        let requestedWait = min(result.retryAfter ?? .zero, RetryAfter.longest)
        next.retryAt = now + max(planned, requestedWait)
        return again(next, event, max(planned, requestedWait), signal(result), now)
    }

    /// Dead-letters an event that has waited longer than the span of its schedule, if its endpoint has failed for as
    /// long; `nil` otherwise, and for a requested retry.
    ///
    /// Without this rule the deliveries of an endpoint that never recovers would accumulate forever, because its
    /// circuit allows only one of them to try at a time.
    package func deadLetterIfExpired(
        _ state: DeliveryState,
        _ event: Event,
        outage: LaneOutage?,
        more: Bool,
        now: Timestamp
    ) -> DeliveryDecision? {
        guard let outage, outage.isProbed, state.again.isEmpty,
            now - max(event.polledAt, outage.since) > schedule.span
        else { return nil }
        var next = state
        next.deadLetter(event.seq, digest: event.digest)
        return ended(.deadLettered, next, event, .hold(.zero), more)
    }

    /// Postpones a delivery without a free slot: it is due after `wait`, and the fallback still receives the event in
    /// time.
    ///
    /// While the circuit is open this delivery is the only one that may try, so the others wait with it. For an old
    /// event that is sent again, the fallback receives it only after a failed attempt.
    func postpone(
        _ state: DeliveryState,
        _ event: Event,
        for wait: Duration,
        outage: LaneOutage?,
        now: Timestamp
    ) -> DeliveryDecision {
        let signal = LaneSignal.hold(outage?.isProbed == true ? wait : .zero)
        let isOld = notifyBy.map { now - event.polledAt > $0 + Self.lateMax } ?? false
        guard state.again.contains(event.seq) || isOld && state.failedSince == nil else {
            return again(state, event, wait, signal, now)
        }
        return DeliveryDecision(
            outcome: .failed,
            state: state,
            verdict: .next(after: wait),
            signal: signal,
            wait: wait,
            escalates: false
        )
    }

    /// Returns the wait after a local error, which is never longer than that of the schedule.
    ///
    /// `nil` when the event has failed for as long as the schedule, or that of webhooks, would have allowed at most:
    /// from then on a local error counts like one of the recipient.
    private func ownErrorWait(
        failures: Int,
        span: Duration,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard span < max(schedule.span, RetrySchedule.webhook.span) else { return nil }
        let waits = [
            Self.ownErrorPause.wait(failures: 1, using: &generator),
            schedule.wait(failures: failures + 1, using: &generator),
        ]
        return waits.compactMap(\.self).min()
    }

    private func ended(
        _ outcome: DeliveryDecision.Outcome,
        _ state: DeliveryState,
        _ event: Event,
        _ signal: LaneSignal,
        _ more: Bool
    ) -> DeliveryDecision {
        var state = state
        let escalates = outcome != .delivered && notifyBy != nil && state.escalated < event.seq
        if escalates { state.escalated = event.seq }
        let isIdle = !more && state.again.isEmpty
        return DeliveryDecision(
            outcome: outcome,
            state: state,
            verdict: isIdle ? state.restingVerdict : .next(after: .zero),
            signal: signal,
            wait: nil,
            escalates: escalates
        )
    }

    /// Plans the next attempt after a failure: after `wait`, or earlier when the fallback is due.
    private func again(
        _ state: DeliveryState,
        _ event: Event,
        _ wait: Duration,
        _ signal: LaneSignal,
        _ now: Timestamp
    ) -> DeliveryDecision {
        var (state, wait, escalates) = (state, wait, false)
        if let notifyBy, state.escalated < event.seq {
            let left = event.polledAt + notifyBy - now
            escalates = left <= .zero
            if escalates { state.escalated = event.seq } else { wait = min(wait, left) }
        }
        return DeliveryDecision(
            outcome: .failed,
            state: state,
            verdict: .next(after: wait),
            signal: signal,
            wait: wait,
            escalates: escalates
        )
    }

    /// Returns the effect of the attempt on every delivery to this endpoint.
    private func signal(_ result: AttemptResult) -> LaneSignal {
        switch result.kind {
        case .ok, .refused: return .fine
        case .gone: return .refused(Self.goneHold)
        // A local cause, or about this message only: no effect on the endpoint.
        case .local, .unusable, .poison, .suppressed: return .hold(.zero)
        default: break
        }
        guard let requestedWait = result.retryAfter, requestedWait > .zero else {
            return result.kind.isSilence ? .failing : .erring
        }
        return .hold(min(requestedWait, RetryAfter.longest))
    }
}

extension DeliveryState {
    /// The verdict without pending events: dead letters keep the delivery in the list for operators.
    package var restingVerdict: Verdict { dead.isEmpty ? .rest : .setAside }
}

/// The decision after one delivery attempt.
package struct DeliveryDecision: Hashable, Sendable {
    /// The outcome of the event.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        case delivered
        /// Nothing was sent, because the recipient has unsubscribed.
        ///
        /// It counts as done.
        case skipped
        /// To be tried again.
        case failed
        /// No attempt is left: a dead letter.
        case deadLettered = "given_up"
        /// The recipient will never accept it: a dead letter.
        case rejected
    }

    package let outcome: Outcome
    package let state: DeliveryState
    package let verdict: Verdict
    package let signal: LaneSignal
    /// The wait for the next attempt; `nil` when there is none for this event.
    package let wait: Duration?
    /// Whether the fallback endpoint must receive the event now.
    package let escalates: Bool
}
