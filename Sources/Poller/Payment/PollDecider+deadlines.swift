import PollerIdentity
import PollerQueue

// What is done before a deadline passes, where a watch was told to (``DeadlineActs``).
//
// ```
// requires_capture, a tenth of the hold is left ─▶ the warning is told; look again at once
//   nothing is new any more                     ─▶ capture or release it; look again at once
// nobody has paid, and the watch is at its end  ─▶ cancel it; look again at once
// done                 ─▶ the look tells what is true: payment.paid, payment.cancelled, payment.expired
// done, not seen yet   ─▶ again, each time later
// outrun, unknown      ─▶ the look tells what is true
// postponed            ─▶ later
// refused              ─▶ a hold: an hour later; what was abandoned: the watch ends as without being told
// ```
//
// *Why so late*: a shop captures when it ships, and a customer may come back. Whoever told the watch to act
// wants it done rather than lost, not soon.
//
// *Never on a guess*: nothing is done about a hold whose end neither the charge nor its method tells
// (``PaymentLife/actsAt``), nor about a payment whose payer can still pay by a voucher
// (``PaymentLife/payableUntil``), whatever the deadline of the watch.
//
// *Exactly once*: an act follows a look that has just seen the status, as it was told before; nothing is
// told of the act itself. Whoever dies between act and commit leaves a payment that has another status, and
// the next look tells that. A watch with a hold to act on does not end before it, whatever its deadline
// (``Watch/end``).

extension PollContext {
    /// What the watch was told to do about what was just seen, if it is time; nil: nothing.
    func act(on seen: Observation) -> DeadlineAct? {
        guard watch.key.kind.isIntent, !watch.isOnlyLooking, !watch.state.differs(from: seen),
            watch.acts.ofHold != nil || watch.acts.ofAbandoned != nil,
            let look = look(seen), !look.isNews
        else { return nil }
        switch look.payment.state {
        // What was captured in part is held for the rest.
        case .authorised, .partiallyPaid:
            guard seen.status == .requiresCapture, let instant = look.actsAt, polledAt >= instant
            else { return nil }
            return watch.acts.ofHold
        // What has been paid in part is not abandoned.
        case .awaitingCustomer, .failed, .expired:
            guard seen.status.awaitsPayer, outlook(seen, look).isOver(at: polledAt),
                look.payableUntil.map({ polledAt >= $0 }) ?? true
            else { return nil }
            return watch.acts.ofAbandoned
        default: return nil
        }
    }

    /// What bounds the waits after an answer; an act is due at its instant.
    func outlook(_ seen: Observation, _ look: PaymentLook?) -> PollOutlook {
        var instants = look?.warnings ?? []
        if let look, let instant = look.actsAt, awaitsAct(seen.status) { instants.append(instant) }
        return PollOutlook(watch, seen, warnings: instants)
    }

    /// Whether the next look is wanted at once, because there is something to do.
    func isActedOnNext(_ seen: Observation, _ look: PaymentLook?) -> Bool {
        guard awaitsAct(seen.status), let instant = look?.actsAt else { return false }
        return polledAt >= instant
    }

    /// Whether a hold is there that something is to be done about: then nothing ends with it.
    func awaitsAct(_ status: SourceStatus) -> Bool {
        status == .requiresCapture && watch.awaitsActOnHold
    }
}

extension Watch {
    /// Whether it was told to do something about a hold, if there is to be one.
    var awaitsActOnHold: Bool {
        key.kind == .paymentIntent && acts.ofHold != nil && !isOnlyLooking
    }
}

extension WatchState {
    /// Whether an observation has another status, or another detail of it, than was reported.
    func differs(from seen: Observation) -> Bool {
        status != seen.status || detail != seen.detail
    }
}

extension SourceStatus {
    /// An intent's money is held, and waits for the shop.
    package static let requiresCapture = SourceStatus(unchecked: "requires_capture")

    /// Whether an intent waits for its payer, or for the shop's page to send them.
    var awaitsPayer: Bool {
        [
            "requires_payment_method", "requires_confirmation", "requires_action",
            "requires_source", "requires_source_action",
        ].contains(description)
    }
}

extension PollDecider {
    /// How long a refusal is left to a person before the same is tried again.
    static let refusedWait = Duration.seconds(3600)

    /// One second, doubled for each repetition, a minute at most.
    private func doubling(_ repetitions: Int) -> Duration {
        min(.seconds(1 << min(max(repetitions - 1, 0), 6)), Self.failureWaitMax)
    }

    /// Decides on an act, which is not reported: the next poll reports the state of the payment.
    func acted(
        _ context: PollContext,
        _ seen: Observation,
        _ act: DeadlineAct,
        _ result: SettleResult,
        _ chance: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        switch result {
        case .done:
            // What is read may be older than what was done, for some seconds: then it is done again, which
            // changes nothing, but not at once.
            let wait = state.failures == 0 ? Duration.zero : doubling(state.failures)
            state.failures += 1
            state.step = 0
            return Decision(
                verdict: .next(after: wait),
                change: WatchChange(state: state),
                isUrgent: true
            )
        case .refused(let reason) where act == .abandon:
            let error = "nobody has finished it, and it may not be cancelled: \(reason)"
            return closed(context, .expired, state, context.look(seen), error: error)
        case .refused(let reason):
            state.failures = 0
            let error = "it may not be \(act.participle): \(reason)"
            return failed(context, state, Self.refusedWait, error: error)
        case .postponed(let reason, let retryAfter):
            state.failures += 1
            let least = bounded(retryAfter)
            let wait = backoff(failures: state.failures, atLeast: least, &chance)
            return failed(context, state, wait, error: "not \(act.participle) yet: \(reason)")
        case .outrun(let reason), .unknown(let reason):
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &chance)
            let error = "nobody knows yet whether it was \(act.participle): \(reason)"
            return failed(context, state, wait, error: error)
        }
    }
}
