import JSONText
import PollerIdentity

// What a look tells of the payment, beside the status.
//
// ```
// the answer is as it was, byte for byte  ─▶ nothing of the payment can be new: it is not even read
// the word, a sum or the reason changed   ─▶ payment.<state>
// a refund has not succeeded              ─▶ refund.<status>
// the customer must do something else     ─▶ next_step.changed
// the status changed, a charge was made   ─▶ <kind>.<status>, charge.<outcome>
// ```
//
// All of it is one commit, in this order, so that nobody hears of the status before the truth. What is
// remembered of the payment (``PaymentMemory``) changes in the same commit: what was told is known to be
// told, whatever crashes.

extension PollContext {
    /// What an answer has shown of the payment; nil when nobody can tell.
    ///
    /// `charge` is the one that was made or found after it.
    func look(_ seen: Observation, charge: ChargeSeen? = nil) -> PaymentLook? {
        let shown = charge?.object ?? chargeSeen?.object
        guard var facts = facts(watch.key, seen, charge: shown) else { return nil }
        // An upstream's charge that cannot be read is known by what we were told of it.
        if let charge, facts.charge == nil {
            facts.charge = ChargeFacts(id: charge.id, status: charge.status)
        }
        return look(facts, digest: seen.digest)
    }

    /// What a refused charge has shown of the payment; `step` is what the customer must do about it.
    func look(
        _ seen: Observation,
        refused failure: PaymentFacts.Failure,
        asking step: NextStep = .none
    ) -> PaymentLook? {
        guard var facts = facts(watch.key, seen) else { return nil }
        facts.step = step
        facts.isRefused = true
        facts.failure = failure
        return look(facts, digest: seen.digest)
    }

    /// What the charge alone has shown, looked at in the place of its source.
    func look(following charge: ChargeID, _ seen: Observation) -> PaymentLook? {
        let key = WatchKey(account: watch.key.account, source: charge, kind: .charge)
        guard let facts = facts(key, seen) else { return nil }
        return look(facts, digest: watch.payment?.object ?? "")
    }

    /// Whether an answer is the one that was looked at last, and all there is.
    ///
    /// The charge of a hold stays as it was when the hold ends: what was read beside it says so.
    func isSame(_ seen: Observation) -> Bool {
        watch.key.kind != .charge && triedRefund == nil && !seen.digest.isEmpty
            && watch.payment?.object == seen.digest && seen.lists == .unread && !hasWindow(seen)
    }

    /// The refund that this poll has made of a duplicate payment.
    private var triedRefund: RefundResult? {
        duplicateRefund.flatMap { $0.isTried ? $0 : nil }
    }

    /// Whether the shop has a time in which to take the money: the same answer says something else
    /// when that time closes.
    private func hasWindow(_ seen: Observation) -> Bool {
        guard let memory = watch.payment, memory.lastDay != nil,
            memory.money?.mayCaptureMore ?? true
        else { return false }
        return seen.expiresAt != nil || seen.status.description == "requires_capture"
    }

    private func look(_ seen: PaymentFacts, digest: String) -> PaymentLook {
        var facts = seen
        if facts.kind == .source, let amount = watch.charge?.amount { facts.amount = amount }
        if facts.charge == nil, !facts.isRefused {
            facts.recall(watch.state.charge, watch.payment)
        }
        if let triedRefund {
            facts = facts.refundedAsDuplicate(after: watch.payment?.money, triedRefund)
        }
        return PaymentLook(facts, object: digest, after: watch.payment)
    }

    /// The payment's own secret, where an answer has it and the watch has none.
    ///
    /// Stripe tells it to whoever asks with a secret key. With it a customer proves to be the one who pays,
    /// also where the shop has not handed it in (``Watch/clientSecret``).
    func learned(from object: RawJSON?) -> ClientSecret? {
        guard watch.clientSecret == nil, watch.key.kind.isOfPayments,
            let text = object?.member("client_secret")?.string
        else { return nil }
        // What could not be handed in is none.
        return try? ClientSecret(text)
    }

    /// The events of a poll, in order: of the payment and the next step, where they are news, and of
    /// `subject`, where there is one.
    ///
    /// What is told of the watch itself is told by the last one; the others repeat what was.
    func events(
        _ look: PaymentLook?,
        _ subject: EventSubject?,
        status: SourceStatus?,
        final: Bool,
        closed: ClosedReason? = nil,
        progress: ChargeProgress? = nil,
        object: RawJSON? = nil
    ) -> [Event] {
        var subjects: [EventSubject] = []
        if let look, look.isPaymentNews { subjects.append(.payment(look.payment.state)) }
        if let look, look.isRefundNews, let refund = look.payment.refund {
            subjects.append(.refund(refund.status))
        }
        if let look, look.isStepNews { subjects.append(.nextStep) }
        if let subject { subjects.append(subject) }
        return subjects.enumerated().map { place, subject in
            let isLast = place == subjects.count - 1
            return Event(
                watch: watch,
                of: subject,
                at: place,
                status: isLast ? status : watch.state.status,
                final: isLast && final,
                closed: isLast ? closed : nil,
                progress: progress,
                payment: look?.payment ?? watch.remembered,
                nextStep: look?.step ?? .none,
                isLive: look?.isLive,
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

extension Watch {
    /// The payment as it is remembered, where nothing shows it; nil where nobody has looked at it.
    package var remembered: Payment? {
        guard let payment else { return nil }
        if let told = payment.told { return told.payment(with: payment.money) }
        // There was room for the evidence of its money alone.
        var facts = PaymentFacts(kind: key.kind)
        facts.status = state.status
        facts.recall(state.charge, payment)
        return Payment(facts.following(payment.money))
    }
}

extension PaymentFacts {
    /// Adds what a watch remembers of its charge.
    ///
    /// The evidence of its money is remembered separately, with refunds and disputes; a charge without evidence is a
    /// hold.
    fileprivate mutating func recall(_ progress: ChargeProgress, _ memory: PaymentMemory?) {
        switch progress {
        case .none, .doubtful: break
        case .failed:
            isRefused = true
            isRefusedBefore = true
        case .pending(let id): charge = ChargeFacts(id: id, status: .pending)
        case .succeeded where memory?.money != nil: break
        case .succeeded(let id): charge = ChargeFacts(id: id, status: .succeeded)
        }
    }
}
