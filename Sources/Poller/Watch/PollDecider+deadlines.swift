import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches

// The actions before a deadline, if configured (`DeadlineActs`).
//
// ```
// requires_capture, a tenth of the hold is left ─▶ the warning is reported; poll again at once
//   no further change                           ─▶ capture or release it; poll again at once
// not paid, and the watch is at its end         ─▶ cancel it; poll again at once
// done                   ─▶ the poll reports the state: payment.paid, payment.cancelled, payment.expired
// done, not observed yet ─▶ again, each time later
// superseded, unknown    ─▶ the poll reports the state
// postponed              ─▶ later
// refused                ─▶ a hold: an hour later; an abandoned payment: the watch ends as usual
// ```
//
// *Why so late*: a shop captures when it ships, and a customer may come back. The action must happen before the
// deadline, not early.
//
// *Never on a guess*: no action is taken on a hold if neither the charge nor its method defines its end
// (`PaymentLifetime.capturesAt`). Nor is a payment cancelled while its payer can still pay with a voucher
// (`PaymentLifetime.payableUntil`). The deadline of the watch does not change that.
//
// *Exactly once*: an action follows a poll that has just read the status as last reported. The action itself is not
// reported. After a crash between action and commit the payment has another status, which the next poll reports. A
// watch with a hold to act on does not end before the action, even after its deadline (`Watch.end`).

extension PollContext {
    /// Returns the configured action for this observation, if it is due; `nil` for none.
    func act(on seen: Observation) -> DeadlineAct? {
        guard watch.key.kind.isIntent, !watch.isUnchangedSinceReopen,
            !watch.state.differs(from: seen),
            watch.acts.ofHold != nil || watch.acts.ofAbandoned != nil,
            let reading = reading(seen), !reading.hasChanges
        else { return nil }
        switch reading.payment.state {
        // A partly captured hold still holds the rest.
        case .authorised, .partiallyPaid:
            guard seen.status == .requiresCapture, let instant = actsOnHold(reading),
                polledAt >= instant
            else { return nil }
            return watch.acts.ofHold
        // A partly paid payment is not abandoned.
        case .awaitingCustomer, .failed, .expired:
            guard seen.status.awaitsPayer, limits(seen, reading).isOver(at: polledAt),
                reading.payableUntil.map({ polledAt >= $0 }) ?? true
            else { return nil }
            return watch.acts.ofAbandoned
        default: return nil
        }
    }

    /// Returns the limits of the waits after an answer; an action is due at its instant.
    func limits(_ seen: Observation, _ reading: PaymentReading?) -> PollLimits {
        var instants = reading?.warnings ?? []
        if let reading, let instant = actsOnHold(reading), awaitsAct(seen.status) {
            instants.append(instant)
        }
        return PollLimits(watch, seen, warnings: instants)
    }

    /// Whether the next poll must follow at once, because an action is due.
    func isActedOnNext(_ seen: Observation, _ reading: PaymentReading?) -> Bool {
        guard awaitsAct(seen.status), let instant = reading.flatMap({ actsOnHold($0) }) else {
            return false
        }
        return polledAt >= instant
    }

    /// Returns the time of the configured action on a hold; `nil` if the end of the hold is unknown.
    private func actsOnHold(_ reading: PaymentReading) -> Timestamp? {
        watch.acts.ofHold == .release ? reading.releasesAt : reading.capturesAt
    }

    /// Whether a hold needs an action, so that the observation does not end the watch.
    func awaitsAct(_ status: SourceStatus) -> Bool {
        status == .requiresCapture && watch.awaitsActOnHold
    }
}

extension WatchState {
    /// Whether an observation has another status or detail than the last report.
    func differs(from seen: Observation) -> Bool {
        status != seen.status || detail != seen.detail
    }
}

extension PollDecider {
    /// The wait after a refusal, in which an operator can act, before the next attempt.
    static let refusedWait = Duration.seconds(3600)

    /// Returns one second, doubled for each repetition, a minute at most.
    private func doubling(_ repetitions: Int) -> Duration {
        min(.seconds(1 << min(max(repetitions - 1, 0), 6)), Self.failureWaitMax)
    }

    /// Decides on an action, which is not reported: the next poll reports the state of the payment.
    func acted(
        _ context: PollContext,
        _ seen: Observation,
        _ act: DeadlineAct,
        _ result: SettleResult,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        switch result {
        case .done:
            // The upstream's answer may be some seconds older than the action. Then the action is repeated without
            // effect, but not at once.
            let wait = state.failures == 0 ? Duration.zero : doubling(state.failures)
            state.failures += 1
            state.step = 0
            return Decision(
                verdict: .next(after: wait),
                change: WatchChange(state: state),
                isUrgent: true
            )
        case .refused(let reason) where act == .abandon:
            let error = "it was not completed, and it may not be cancelled: \(reason)"
            return closed(context, .expired, state, context.reading(seen), error: error)
        case .refused(let reason):
            state.failures = 0
            let error = "it may not be \(act.participle): \(reason)"
            return failed(context, state, Self.refusedWait, error: error)
        case .postponed(let reason, let retryAfter, _):
            state.failures += 1
            let least = bounded(retryAfter)
            let wait = backoff(failures: state.failures, atLeast: least, &generator)
            return failed(context, state, wait, error: "not \(act.participle) yet: \(reason)")
        case .superseded(let reason), .unknown(let reason):
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &generator)
            let error = "it is not known yet whether it was \(act.participle): \(reason)"
            return failed(context, state, wait, error: error)
        }
    }
}
