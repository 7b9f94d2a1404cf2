// What follows from charging a source.
//
// ```
// chargeable seen      ─▶ source.chargeable; look again at once, and then charge
// made                 ─▶ charge.pending | charge.succeeded | charge.failed, by the bank's answer
// declined             ─▶ charge.failed; the watch goes on as one without a charge
// indeterminate        ─▶ doubtful; the same key again, or the charge found once it has consumed
// incomplete, postponed ─▶ later
// ```
//
// The charge is made after `source.chargeable` is recorded, in a poll of its own that has just seen
// the source chargeable. What a crash leaves: before the charge, nothing; after it, a source that
// is consumed, whose charge is found, or one whose key gives the same charge again. So a watch
// ends when both have: the source is consumed and the bank has answered.

extension PollDecider {
    /// Whether the next look at a watch is there to charge it.
    func isChargedNext(_ watch: Watch, _ state: WatchState) -> Bool {
        watch.charge != nil && !state.charge.isSettled && state.charge.charge == nil
            && state.status == .chargeable
    }

    /// Whether a charge is still to be made or answered: then nothing ends with what was seen.
    func awaitsCharge(_ watch: Watch, _ seen: Observation) -> Bool {
        guard watch.charge != nil, !watch.state.charge.isSettled else { return false }
        return seen.status == .chargeable || watch.state.charge.charge != nil
    }

    /// Decides what follows from a try to charge a source that was seen a moment ago.
    ///
    /// `observation` is what was seen; times as in ``decide(_:_:due:polledAt:now:using:)``.
    package func decide(
        _ watch: Watch,
        _ observation: Observation,
        charging result: ChargeResult,
        due: Timestamp,
        polledAt: Timestamp,
        now: Timestamp,
        using chance: inout some RandomNumberGenerator
    ) -> PollDecision {
        var state = watch.state
        state.attempts += 1
        state.lastPolledAt = polledAt
        state.malformed = 0
        let lag = max(polledAt - due, .zero)
        switch result {
        case .made(let charge):
            return outcome(watch, charge, state, polledAt, lag)
        case .declined(let code, let reason):
            state.failures = 0
            state.charge = .failed
            state.step = 0
            let object = """
                {"object":"charge_failure","source":\(RawJSON.literal("\(watch.key.source)")),\
                "code":\(RawJSON.literal(code)),\
                "decline_code":\(reason.map(RawJSON.literal) ?? "null")}
                """
            let event = Event(
                watch: watch,
                status: state.status,
                final: false,
                charge: .failed,
                progress: state.charge,
                object: RawJSON(unchecked: object),
                polledAt: polledAt,
                lag: lag
            )
            let change = WatchChange(
                state: state,
                event: event,
                lastError: "the charge was refused: \(code); it is not tried again"
            )
            return PollDecision(verdict: .next(after: .seconds(1)), change: change)
        case .incomplete(let received, let wanted):
            state.failures = 0
            let outlook = PollOutlook(watch, observation)
            if outlook.isOver(at: polledAt) {
                return closed(watch, .expired, state, polledAt: polledAt, lag: lag, error: nil)
            }
            state.step += 1
            let error = "not charged yet: \(received) of \(wanted) have arrived"
            return again(watch, outlook, state, now, error: error, &chance)
        case .indeterminate(let reason):
            state.charge = .doubtful
            state.failures += 1
            let wait = backoff(failures: state.failures, atLeast: nil, &chance)
            let error = "nobody knows yet whether the charge was made: \(reason)"
            return failed(watch, state, wait, polledAt, lag, now, error: error)
        case .postponed(let reason, let retryAfter):
            state.failures += 1
            let least = bounded(retryAfter)
            let wait = backoff(failures: state.failures, atLeast: least, &chance)
            let error = "not charged yet: \(reason)"
            return failed(watch, state, wait, polledAt, lag, now, error: error)
        }
    }

    /// Decides what follows from looking at a charge that the bank had not answered.
    ///
    /// `charge` is the charge looked at; the rest as in
    /// ``decide(_:_:due:polledAt:now:using:)``.
    package func decide(
        _ watch: Watch,
        following charge: ChargeID,
        _ result: PollResult,
        due: Timestamp,
        polledAt: Timestamp,
        now: Timestamp,
        using chance: inout some RandomNumberGenerator
    ) -> PollDecision {
        if case .observed(let seen) = result, let last = watch.state.status {
            let status = ChargeSeen.Status(rawValue: seen.status.description) ?? .pending
            guard status == .pending else {
                var state = watch.state
                state.attempts += 1
                state.lastPolledAt = polledAt
                let answered = ChargeSeen(id: charge, status: status, object: seen.object)
                return outcome(watch, answered, state, polledAt, max(polledAt - due, .zero))
            }
            // Nothing new: the watch goes on as if it had seen its own status again.
            let unchanged = Observation(
                status: last,
                final: false,
                object: nil,
                detail: watch.state.detail,
                stretch: seen.stretch
            )
            return decide(
                watch,
                .observed(unchanged),
                due: due,
                polledAt: polledAt,
                now: now,
                using: &chance
            )
        }
        return decide(watch, result, due: due, polledAt: polledAt, now: now, using: &chance)
    }

    /// What the bank has answered, recorded; the end when the source is consumed already.
    private func outcome(
        _ watch: Watch,
        _ charge: ChargeSeen,
        _ state: WatchState,
        _ polledAt: Timestamp,
        _ lag: Duration
    ) -> PollDecision {
        var state = state
        state.failures = 0
        state.step = 0
        state.charge =
            switch charge.status {
            case .pending: .pending(charge.id)
            case .succeeded: .succeeded(charge.id)
            case .failed: .failed
            }
        let isEnd = state.charge.isSettled && state.status == .consumed
        let event = Event(
            watch: watch,
            status: state.status,
            final: isEnd,
            charge: charge.status,
            progress: state.charge,
            object: charge.object,
            polledAt: polledAt,
            lag: lag
        )
        // What is left to see is whether the charge has consumed the source.
        return PollDecision(
            verdict: isEnd ? .close(.settled) : .next(after: .zero),
            change: WatchChange(state: state, event: event),
            isUrgent: !isEnd
        )
    }
}

extension SourceStatus {
    /// The customer has authorised: it may be charged.
    package static let chargeable = SourceStatus(unchecked: "chargeable")
    /// Charged; nothing more happens to it.
    package static let consumed = SourceStatus(unchecked: "consumed")
}
