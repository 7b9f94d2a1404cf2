import JSONText
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches

// The payment events of a poll, in addition to the status.
//
// ```
// the answer is unchanged, byte for byte   ─▶ the payment cannot have changed and is not parsed
// the state, a sum or the reason changed   ─▶ payment.<state>
// a refund has not succeeded               ─▶ refund.<status>
// the customer's next step changed         ─▶ next_step.changed
// the status changed, a charge was made    ─▶ <kind>.<status>, charge.<outcome>
// ```
//
// All events are recorded in one commit, in this order, so that no subscriber receives the status before the payment.
// The stored facts of the payment (`PaymentMemory`) change in the same commit, so that a crash cannot separate them
// from the report.

extension PollContext {
    /// Returns the payment in an answer; `nil` if it is unknown.
    ///
    /// `charge` is a charge that was made or found after the answer.
    func reading(_ seen: Observation, charge: ObservedCharge? = nil) -> PaymentReading? {
        let shown = charge?.object ?? observedCharge?.object
        guard var facts = facts(watch.key, seen, charge: shown) else { return nil }
        // If an upstream's charge object is unreadable, its ID and status are used.
        if let charge, facts.charge == nil {
            facts.charge = ChargeFacts(id: charge.id, status: charge.status)
        }
        return reading(facts, digest: seen.digest)
    }

    /// Returns the payment after a refused charge; `step` is the customer's next step.
    func reading(
        _ seen: Observation,
        refused failure: PaymentFacts.Failure,
        asking step: NextStep = .none
    ) -> PaymentReading? {
        guard var facts = facts(watch.key, seen) else { return nil }
        facts.step = step
        facts.isRefused = true
        facts.failure = failure
        return reading(facts, digest: seen.digest)
    }

    /// Returns the payment from a charge that was read in place of its source.
    func reading(following charge: ChargeID, _ seen: Observation) -> PaymentReading? {
        let key = WatchKey(account: watch.key.account, source: charge, kind: .charge)
        guard let facts = facts(key, seen) else { return nil }
        return reading(facts, digest: watch.payment?.object ?? "")
    }

    /// Whether an answer is identical to the last one and complete.
    ///
    /// The charge of a hold does not change when the hold ends. The objects that are read with it show the end.
    func isSame(_ seen: Observation) -> Bool {
        watch.key.kind != .charge && triedRefund == nil && !seen.digest.isEmpty
            && watch.payment?.object == seen.digest && seen.lists == .unread && !hasWindow(seen)
    }

    /// The refund of a duplicate payment in this poll.
    private var triedRefund: RefundResult? {
        duplicateRefund.flatMap { $0.isTried ? $0 : nil }
    }

    /// Whether the shop has a time limit to take the money: an identical answer then means a different state when the
    /// limit passes.
    private func hasWindow(_ seen: Observation) -> Bool {
        guard let memory = watch.payment, memory.lastDay != nil,
            memory.money?.mayCaptureMore ?? true
        else { return false }
        return seen.expiresAt != nil || seen.status.description == "requires_capture"
    }

    private func reading(_ seen: PaymentFacts, digest: String) -> PaymentReading {
        var facts = seen
        if facts.kind == .source, let amount = watch.charge?.amount { facts.amount = amount }
        if facts.charge == nil, !facts.isRefused {
            facts.recall(watch.state.charge, watch.payment)
        }
        if let triedRefund {
            facts = facts.refundedAsDuplicate(after: watch.payment?.money, triedRefund)
        }
        return PaymentReading(facts, object: digest, after: watch.payment)
    }

    /// Returns the payment's client secret, if the answer contains it and the watch has none.
    ///
    /// Stripe returns it to requests with a secret key. With it a customer can prove to be the payer, even if the shop
    /// did not provide it (`Watch.clientSecret`).
    func learned(from object: RawJSON?) -> ClientSecret? {
        guard watch.clientSecret == nil, watch.key.kind.isOfPayments,
            let text = object?.member("client_secret")?.string
        else { return nil }
        // A text that a request could not contain is not accepted.
        return try? ClientSecret(text)
    }

    /// Returns the events of a poll, in order: of the payment and the next step, if they changed, and of `subject`, if
    /// there is one.
    ///
    /// Only the last event contains the new status of the watch; the others repeat the previous one.
    func events(
        _ reading: PaymentReading?,
        _ subject: EventSubject?,
        status: SourceStatus?,
        final: Bool,
        closed: ClosedReason? = nil,
        progress: ChargeProgress? = nil,
        object: RawJSON? = nil
    ) -> [Event] {
        var subjects: [EventSubject] = []
        if let reading, reading.hasPaymentChange {
            subjects.append(.payment(reading.payment.state))
        }
        if let reading, reading.hasRefundChange, let refund = reading.payment.refund {
            subjects.append(.refund(refund.status))
        }
        if let reading, reading.hasStepChange { subjects.append(.nextStep) }
        if let subject { subjects.append(subject) }
        return subjects.enumerated().map { index, subject in
            let isLast = index == subjects.count - 1
            return Event(
                watch: watch,
                of: subject,
                at: index,
                status: isLast ? status : watch.state.status,
                final: isLast && final,
                closed: isLast ? closed : nil,
                progress: progress,
                payment: reading?.payment ?? watch.reportedPayment,
                nextStep: reading?.step ?? .none,
                isLive: reading?.isLive,
                object: isLast ? object : nil,
                polledAt: polledAt,
                lag: lag
            )
        }
    }
}

extension Event {
    /// Whether the event reports received money.
    var reportsMoney: Bool {
        [PaymentState.paid, .partiallyPaid].contains { $0.eventType == type }
    }
}

extension PaymentFacts {
    /// Returns the facts with the refund of a duplicate payment.
    ///
    /// They have the mark that it was tried, even if the refund is not complete or has failed.
    func refundedAsDuplicate(after earlier: ChargeFacts?, _ result: RefundResult) -> PaymentFacts {
        var facts = following(earlier)
        guard var money = facts.evidence else { return facts }
        switch result {
        case .made: money.refunded = money.captured
        case .underway(let status):
            let open = max(.zero, money.captured - money.refunded)
            money.refund = RefundProgress(status, open)
        case .covered, .failed, .refused, .postponed: break
        }
        money.isDuplicate = true
        facts.charge = money
        return facts
    }
}

extension PollDecider {
    /// Decides on a refund that could not be made yet: the same poll is repeated later.
    func refundPostponed(
        _ context: PollContext,
        _ reason: String,
        _ retryAfter: Duration?,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &generator)
        let error = "its order was paid twice, and the duplicate is not refunded yet: \(reason)"
        return failed(context, state, wait, error: error)
    }
}
