import JSONText
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches

// Decisions on charging a source.
//
// ```
// chargeable observed   ─▶ source.chargeable; poll again at once, and then charge
// made                  ─▶ charge.pending | charge.succeeded | charge.failed, by the bank's answer
// unauthenticated       ─▶ charge.failed; another source is charged instead (``ThreeDSecureWatcher``)
// declined              ─▶ charge.failed; the watch continues without a charge
// indeterminate         ─▶ doubtful; the same key again, or the charge is found once the source is consumed
// incomplete, postponed ─▶ later
// ```
//
// The charge is made after `source.chargeable` is recorded, in a poll of its own that has just read the source as
// chargeable. A crash before the charge has no effect. After a crash behind the charge, the source is consumed and its
// charge is found, or its key returns the same charge again. A watch ends when the source is consumed and the bank has
// answered.

extension PollDecider {
    /// Whether the next poll of a watch charges the source.
    func isChargedNext(_ watch: Watch, _ state: WatchState) -> Bool {
        watch.charge != nil && !state.charge.isSettled && state.charge.charge == nil
            && state.status == .chargeable
    }

    /// Whether a charge is still to be made or answered, so that the observation does not end the watch.
    func awaitsCharge(_ watch: Watch, _ seen: Observation) -> Bool {
        guard watch.charge != nil, !watch.state.charge.isSettled else { return false }
        return seen.status == .chargeable || watch.state.charge.charge != nil
    }

    /// Decides on an attempt to charge a source that was just read.
    func charged(
        _ context: PollContext,
        _ observation: Observation,
        _ result: ChargeResult,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        switch result {
        case .made(let charge):
            let reading = context.reading(observation, charge: charge)
            let isOrdered = context.watch.charge != nil
            if charge.status == .succeeded, reading?.memory.money?.dispute == .claimed {
                // The details of the dispute are read next, with the charge in place of the source. An ordered charge
                // is reported then, as the bank's answer.
                state.charge = isOrdered ? .pending(charge.id) : .succeeded(charge.id)
                if isOrdered { state.step += 1 }
                let change = WatchChange(state: state)
                return Decision(verdict: .next(after: .zero), change: change, isUrgent: true)
            }
            if isOrdered { return bankAnswered(context, charge, reading, state) }
            // The shop's own charge, which was searched for its money.
            state.charge = ChargeProgress(charge)
            guard context.watch.isReview else {
                return recorded(context, observation, reading, state, &generator)
            }
            return reviewed(context, reading, state, as: .settled, object: charge.object)
        case .declined(let code, let reason):
            let failure = PaymentFacts.Failure(code: code, decline: reason)
            return declined(context, failure, context.reading(observation, refused: failure), state)
        case .unauthenticated(let secure):
            return unauthenticated(context, observation, secure)
        case .incomplete(let received, let wanted):
            state.failures = 0
            let limits = PollLimits(context.watch, observation)
            if limits.isOver(at: context.polledAt) {
                return closed(context, .expired, state, error: nil)
            }
            state.step += 1
            let error = "not charged yet: \(received) of \(wanted) have arrived"
            return again(context, limits, state, error: error, &generator)
        case .indeterminate(let reason, let attempt):
            state.charge = .doubtful
            if let attempt { state.chargeAttempt = attempt }
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &generator)
            let error = "it is not known yet whether the charge was made: \(reason)"
            return failed(context, state, wait, error: error)
        case .postponed(let reason, let retryAfter, _):
            state.failures += 1
            let least = bounded(retryAfter)
            let wait = backoff(failures: state.failures, atLeast: least, &generator)
            let error = "not charged yet: \(reason)"
            return failed(context, state, wait, error: error)
        }
    }

    /// Decides on an answer about the charge of a source.
    func chargeAnswered(
        _ context: PollContext,
        _ charge: ChargeID,
        _ result: PollResult,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        guard case .observed(let seen) = result else {
            return answered(context, result, &generator)
        }
        let status = seen.bankAnswer
        let reading = context.reading(following: charge, seen)
        if context.watch.state.charge == .succeeded(charge) {
            // The charge itself was reported before; only its money may have moved.
            guard context.watch.isReview else { return moved(context, reading, seen) }
            let reason = context.watch.endedAs ?? .settled
            return reviewed(context, reading, context.polledState, as: reason, object: seen.object)
        }
        guard status == .pending else {
            let found = ObservedCharge(id: charge, status: status, object: seen.object)
            return bankAnswered(context, found, reading, context.polledState)
        }
        guard let last = context.watch.state.status else {
            // The source itself was never read.
            var state = context.polledState
            state.understood()
            (state.failures, state.step) = (0, 0)
            let change = WatchChange(state: state, payment: reading?.memory)
            return Decision(verdict: .next(after: .zero), change: change, isUrgent: true)
        }
        // Unchanged: the watch continues as if its own status had been observed again.
        let unchanged = Observation(
            status: last,
            final: false,
            object: nil,
            detail: context.watch.state.detail,
            digest: context.watch.payment?.object ?? "",
            stretch: seen.stretch
        )
        return answered(context, .observed(unchanged), &generator)
    }

    /// Reports moved money of a charge while its watch is open; the watch continues.
    private func moved(
        _ context: PollContext,
        _ reading: PaymentReading?,
        _ seen: Observation
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        state.failures = 0
        let events = context.events(
            reading,
            nil,
            status: state.status,
            final: false,
            progress: state.charge,
            object: seen.object
        )
        return Decision(
            verdict: .next(after: .zero),
            change: WatchChange(state: state, payment: reading?.memory, events: events),
            isUrgent: true,
            commitsAtOnce: !events.isEmpty
        )
    }

    /// Records the bank's refusal; the watch continues without a charge.
    private func declined(
        _ context: PollContext,
        _ failure: PaymentFacts.Failure,
        _ reading: PaymentReading?,
        _ before: WatchState
    ) -> Decision<WatchChange> {
        var state = before
        state.failures = 0
        state.charge = .failed
        state.step = 0
        let object = """
            {"object":"charge_failure","source":\(JSONWriter.literal("\(context.watch.key.source)")),\
            "code":\(JSONWriter.literal(failure.code ?? "declined")),\
            "decline_code":\(failure.decline.map(JSONWriter.literal) ?? "null")}
            """
        let events = context.events(
            reading,
            .charge(.failed),
            status: state.status,
            final: false,
            progress: state.charge,
            object: RawJSON(unchecked: object)
        )
        let change = WatchChange(
            state: state,
            payment: reading?.memory,
            events: events,
            lastError:
                "the charge was refused: \(failure.code ?? "declined"); it is not retried"
        )
        return Decision(verdict: .next(after: .seconds(1)), change: change)
    }

    /// Records the bank's answer; closes the watch if the source is consumed already.
    private func bankAnswered(
        _ context: PollContext,
        _ charge: ObservedCharge,
        _ reading: PaymentReading?,
        _ before: WatchState
    ) -> Decision<WatchChange> {
        var state = before
        state.failures = 0
        state.step = 0
        state.charge = ChargeProgress(charge)
        // A customer's source stays chargeable, so a review of a charge by another party ends with its answer.
        let isReviewed = context.watch.isReview && context.watch.charge == nil
        let isEnd = state.charge.isSettled && (state.status == .consumed || isReviewed)
        let events = context.events(
            reading,
            .charge(charge.status),
            status: state.status,
            final: isEnd,
            progress: state.charge,
            object: charge.object
        )
        // The remaining question is whether the charge has consumed the source.
        return Decision(
            verdict: isEnd ? .close(.settled) : .next(after: .zero),
            change: WatchChange(state: state, payment: reading?.memory, events: events),
            isUrgent: !isEnd
        )
    }
}

extension PollContext {
    /// Whether an answer about the charge of a source leads to an event: money has moved, or the bank has answered.
    func causesEvent(_ seen: Observation, of charge: ChargeID) -> Bool {
        guard watch.state.charge == .succeeded(charge) else { return seen.bankAnswer != .pending }
        return reading(following: charge, seen)?.hasChanges ?? false
    }
}

extension Observation {
    /// The bank's answer in an observed charge.
    ///
    /// A charge that contradicts itself counts as not answered, whatever its status.
    fileprivate var bankAnswer: ObservedCharge.Status {
        guard rank == .final else { return .pending }
        return ObservedCharge.Status(rawValue: status.description) ?? .pending
    }
}

extension ChargeProgress {
    fileprivate init(_ charge: ObservedCharge) {
        switch charge.status {
        case .pending: self = .pending(charge.id)
        case .succeeded: self = .succeeded(charge.id)
        case .failed: self = .failed
        }
    }
}

extension WatchState {
    /// Counts an unanswered poll that is not a failure, because the stored charge may now be outdated.
    mutating func markOutdated() {
        if charge.charge != nil { step = max(step, 1) }
    }
}

extension PollDecider {
    /// Decides on a card that requires authentication: its watch ends, with the next step.
    func unauthenticated(
        _ context: PollContext,
        _ observation: Observation,
        _ secure: ThreeDSecureSource?
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        state.failures = 0
        state.step = 0
        state.charge = .failed
        let failure = PaymentFacts.Failure(code: "authentication_required")
        // Without such a source only the shop's page can continue.
        let step = secure?.step ?? .returnToShop
        let made = secure.map { JSONWriter.literal("\($0.key.source)") } ?? "null"
        let object = """
            {"object":"charge_failure","source":\(JSONWriter.literal("\(context.watch.key.source)")),\
            "code":"authentication_required","decline_code":null,"three_d_secure":\(made)}
            """
        let reading = context.reading(observation, refused: failure, asking: step)
        let events = context.events(
            reading,
            .charge(.failed),
            status: state.status,
            final: false,
            closed: .reached,
            progress: state.charge,
            object: RawJSON(unchecked: object)
        )
        let error =
            secure.map { secure in
                "the card needs 3-D Secure: \(secure.key.source) was created from it and is watched"
            }
            ?? "the card needs 3-D Secure: create a source of type three_d_secure from it and watch that, or "
            + "set POLLER_PUBLIC_URL to have this done automatically"
        let change = WatchChange(
            state: state,
            payment: reading?.memory,
            events: events,
            lastError: error
        )
        return Decision(verdict: .close(.reached), change: change)
    }
}
