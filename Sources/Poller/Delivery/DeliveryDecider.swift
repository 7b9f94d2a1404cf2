package import PollerIdentity
package import PollerQueue

/// Decides what follows from an attempt: pure, and the one place that knows.
///
/// The life of an event at an endpoint:
/// 1. Tried, and accepted: the cursor moves behind it, the circuit of the endpoint closes.
/// 2. Failed: tried again by the schedule. What fails between two attempts of the schedule
///    (something new was recorded) or as the probe of an open circuit uses nothing of it.
/// 3. `Retry-After` holds the whole endpoint, up to an hour.
/// 4. The schedule is used up, or its whole span has passed while the circuit was open: given up.
///    A receiver that will never take it: rejected. Both stay in the delivery as dead letters,
///    which somebody may have sent again.
package struct DeliveryDecider: Sendable {
    /// How long an endpoint that answered 410 is left alone.
    private static let goneHold = Duration.seconds(3600)

    /// What waits in line comes back when its fallback is due; so late it may be by then.
    private static let lateMax = SlowReceivers.pause.upperBound

    private let schedule: RetrySchedule
    /// The span after which the fallback is told; nil when there is none.
    private let notifyBy: Duration?

    /// Decides by a schedule.
    package init(schedule: RetrySchedule, notifyBy: Duration? = nil) {
        self.schedule = schedule
        self.notifyBy = notifyBy
    }

    /// What follows from `result`.
    ///
    /// - Parameters:
    ///   - state: the delivery before the attempt.
    ///   - event: the event that was tried.
    ///   - result: what came of it.
    ///   - trouble: that of the endpoint when the delivery was claimed.
    ///   - more: whether something may be left to tell after this event.
    ///   - now: the store's time.
    ///   - chance: for the jitter.
    /// - Returns: what to record, and what it says about the endpoint.
    package func decide(
        _ state: DeliveryState,
        _ event: Event,
        _ result: AttemptResult,
        trouble: LaneTrouble?,
        more: Bool,
        now: Timestamp,
        chance: inout some RandomNumberGenerator
    ) -> DeliveryDecision {
        var next = state
        next.attempts += 1
        switch result.outcome {
        case .delivered:
            next.settle(event.seq, event.id)
            return ended(.delivered, next, event, .fine, more)
        case .skipped:
            next.settle(event.seq, event.id)
            return ended(.skipped, next, event, .hold(.zero), more)
        case .rejected:
            next.giveUp(event.seq, event.id)
            return ended(.rejected, next, event, signal(result), more)
        case .failed: break
        }
        let failedSince = state.failedSince ?? now
        next.failedSince = failedSince
        let isExtra = state.retryAt.map { now < $0 } ?? false
        let isProbe = trouble?.isProbed ?? false
        if !isExtra, !isProbe { next.failures += 1 }
        let planned: Duration?
        if isExtra, let retryAt = state.retryAt {
            // No farther off than it can have been set: the store's clock may have been set back since.
            let longest = max(schedule.longest(failures: next.failures), RetryAfter.longest)
            planned = min(retryAt - now, longest)
        } else if isProbe, now - max(failedSince, trouble?.since ?? failedSince) >= schedule.span {
            planned = nil
        } else {
            planned = schedule.wait(failures: max(next.failures, 1), using: &chance)
        }
        guard let planned else {
            next.giveUp(event.seq, event.id)
            return ended(.givenUp, next, event, signal(result), more)
        }
        let wish = min(result.retryAfter ?? .zero, RetryAfter.longest)
        next.retryAt = now + max(planned, wish)
        return again(next, event, max(planned, wish), signal(result), now)
    }

    /// What follows when an event has waited for longer than its schedule goes on, and its
    /// endpoint has failed for as long; nil while that is not so, and when somebody asked for it.
    ///
    /// Without this the deliveries of an endpoint that never comes back would pile up for ever:
    /// its circuit lets only one of them try at a time.
    package func outlived(
        _ state: DeliveryState,
        _ event: Event,
        trouble: LaneTrouble?,
        more: Bool,
        now: Timestamp
    ) -> DeliveryDecision? {
        guard let trouble, trouble.isProbed, state.again.isEmpty,
            now - max(event.polledAt, trouble.since) > schedule.span
        else { return nil }
        var next = state
        next.giveUp(event.seq, event.id)
        return ended(.givenUp, next, event, .hold(.zero), more)
    }

    /// Not tried, for want of a place: comes back after `wait` as if it had not been its turn, but the
    /// fallback is told in time.
    ///
    /// While the circuit is open, its one attempt at a time is this one: what else waits for it waits with it. Of
    /// what is old, because it is told again, the fallback is told only once an attempt has failed.
    func putOff(
        _ state: DeliveryState,
        _ event: Event,
        for wait: Duration,
        trouble: LaneTrouble?,
        now: Timestamp
    ) -> DeliveryDecision {
        let signal = LaneSignal.hold(trouble?.isProbed == true ? wait : .zero)
        let isOld = notifyBy.map { now - event.polledAt > $0 + Self.lateMax } ?? false
        guard state.again.contains(event.seq) || isOld && state.failedSince == nil else {
            return again(state, event, wait, signal, now)
        }
        return DeliveryDecision(
            fate: .failed,
            state: state,
            verdict: .next(after: wait),
            signal: signal,
            wait: wait,
            escalates: false
        )
    }

    private func ended(
        _ fate: DeliveryDecision.Fate,
        _ state: DeliveryState,
        _ event: Event,
        _ signal: LaneSignal,
        _ more: Bool
    ) -> DeliveryDecision {
        var state = state
        let escalates = fate != .delivered && notifyBy != nil && state.escalated < event.seq
        if escalates { state.escalated = event.seq }
        let isIdle = !more && state.again.isEmpty
        return DeliveryDecision(
            fate: fate,
            state: state,
            verdict: isIdle ? state.restingVerdict : .next(after: .zero),
            signal: signal,
            wait: nil,
            escalates: escalates
        )
    }

    /// Failed: comes back after `wait`, or earlier when the fallback is due before.
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
            fate: .failed,
            state: state,
            verdict: .next(after: wait),
            signal: signal,
            wait: wait,
            escalates: escalates
        )
    }

    /// What the attempt says about every delivery to this endpoint.
    private func signal(_ result: AttemptResult) -> LaneSignal {
        switch result.kind {
        case .ok, .refused: return .fine
        case .gone: return .refused(Self.goneHold)
        // Ours, or about this one message: nothing about the endpoint.
        case .local, .unusable, .poison, .suppressed: return .hold(.zero)
        default: break
        }
        guard let wish = result.retryAfter, wish > .zero else {
            return result.kind.isSilence ? .failing : .erring
        }
        return .hold(min(wish, RetryAfter.longest))
    }
}

extension DeliveryState {
    /// Nothing is left to tell: dead letters keep it among those a person should look at.
    package var restingVerdict: Verdict { dead.isEmpty ? .rest : .setAside }
}

/// What follows from one attempt to tell a customer.
package struct DeliveryDecision: Hashable, Sendable {
    /// What has become of the event.
    package enum Fate: String, Hashable, Sendable {
        case delivered
        /// Nothing was sent: the recipient wants no mail. Done, all the same.
        case skipped
        /// It will be tried again.
        case failed
        /// No attempt is left: a dead letter.
        case givenUp = "given_up"
        /// The receiver will never take it: a dead letter.
        case rejected
    }

    package let fate: Fate
    package let state: DeliveryState
    package let verdict: Verdict
    package let signal: LaneSignal
    /// How long until the next attempt; nil when the event has come to its end.
    package let wait: Duration?
    /// The fallback endpoint is to be told of the event now.
    package let escalates: Bool
}
