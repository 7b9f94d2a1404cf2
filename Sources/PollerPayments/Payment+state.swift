import PollerIdentity

// The rules for the payment state. The first matching row applies:
//
// | observed | state | reason |
// |---|---|---|
// | money, a dispute lost, and at most a tenth left | reversed | dispute_lost |
// | money, and the charge has failed since | reversed | bank_returned |
// | money, a dispute over a part of it lost | partially_refunded | dispute_lost |
// | money, an open dispute, whatever was refunded | disputed | |
// | money captured from a hold, and the rest is still held | partially_paid | held |
// | money, all of it refunded | refunded | duplicate, if its order was paid twice |
// | money, a dispute without details | disputed | |
// | money, part of it refunded | partially_refunded | inquiry, if the bank only inquires |
// | money | paid | inquiry, if the bank only inquires |
// | an intent that is canceled | expired, cancelled | by its reason |
// | a charge that was authorised and released | expired, cancelled | authorisation_expired, released |
// | a charge that is authorised | authorised | |
// | a charge that is pending | processing | |
// | a charge that has failed or was refused, and no new attempt | failed | by its code |
// | no charge | by the object's status | |
//
// An upstream that is described by configuration states the payment state itself (``PaymentFacts/claim``), which also
// applies to its money. A state without money does not take back money that was observed; the rows above then apply.
//
// Money is a succeeded and captured charge, a succeeded intent, or a source that a method with immediate settlement has
// consumed (``PaymentFacts/evidence``). The clock never decides: an expiry must have been observed. The only exception
// is a hold without an intent, because Stripe's charge shows when it ends (`capture_before`), but not that it has
// ended.

extension Payment {
    /// Derives the payment from the observed facts.
    ///
    /// The function is total: any facts have a state.
    package init(_ facts: PaymentFacts) {
        let money = facts.evidence
        if let claim = facts.claim, claim.wasPaid || money == nil {
            self.init(facts, claimed: claim, money)
            return
        }
        if let money {
            self.init(facts, money)
            return
        }
        let derived = Self.stateOfCharge(facts) ?? Self.stateOfObject(facts)
        // The amount that an intent has received counts only if its charge agrees.
        let isDenied = facts.kind == .paymentIntent && facts.charge?.status == .pending
        self.init(
            state: derived.state,
            amount: facts.amount ?? facts.charge?.amount,
            amountReceived: isDenied ? .zero : facts.received ?? .zero,
            amountReturned: facts.returned,
            currency: facts.currency,
            method: facts.paidBy,
            reason: derived.reason,
            presentment: facts.presentedSums
        )
    }

    /// Creates the payment from the upstream's own state, with the observed money.
    private init(_ facts: PaymentFacts, claimed state: PaymentState, _ money: ChargeFacts?) {
        let captured = state.wasPaid ? money?.captured ?? .zero : .zero
        let isGone = state == .refunded || state == .reversed
        self.init(
            state: state,
            amount: facts.amount ?? money?.captured,
            amountReceived: captured,
            amountReturned: isGone ? captured : .zero,
            currency: facts.currency,
            method: facts.paidBy,
            paidAt: money?.paidAt
        )
    }

    /// A state and its reason.
    private typealias StateAndReason = (state: PaymentState, reason: PaymentReason?)

    /// Derives the payment from received money.
    private init(_ facts: PaymentFacts, _ charge: ChargeFacts) {
        let captured = charge.captured
        // If the sum is unknown, only the refunded part is known.
        let refunded =
            charge.hasUnknownSum ? charge.refunded : min(max(charge.refunded, .zero), captured)
        var returned = refunded
        let derived: StateAndReason
        if charge.dispute == .lost {
            // Not more than was received.
            returned = min(captured, refunded + max(charge.disputed ?? captured, .zero))
        }
        if charge.dispute == .lost,
            returned == captured
                || !charge.isReturned && Self.isWhole(returned - refunded, of: captured - refunded)
        {
            derived = (.reversed, .disputeLost)
        } else if charge.isReturned {
            returned = captured
            derived = (.reversed, .bankReturned)
        } else if charge.dispute == .lost, returned > 0 {
            // The shop keeps the rest, so the order stays paid.
            derived = (.partiallyRefunded, .disputeLost)
        } else if charge.dispute == .open {
            derived = (.disputed, nil)
        } else if charge.mayCaptureMore {
            derived = (.partiallyPaid, .held)
        } else if charge.hasUnknownSum ? charge.isGivenBack : refunded == captured {
            derived = (.refunded, charge.isDuplicate ? .duplicate : nil)
        } else if charge.dispute == .claimed {
            derived = (.disputed, nil)
        } else {
            derived = (
                refunded > 0 ? .partiallyRefunded : .paid,
                charge.dispute == .inquiry ? .inquiry : nil
            )
        }
        // The sum of a dispute is not known in the payer's currency.
        var presentment = facts.presentedSums
        if returned != refunded { presentment?.returned = nil }
        self.init(
            state: derived.state,
            amount: facts.amount ?? charge.amount,
            amountReceived: captured,
            amountReturned: returned,
            currency: facts.currency,
            method: facts.paidBy,
            paidAt: charge.paidAt,
            reason: derived.reason,
            // No refund is pending for money that was returned.
            refund: derived.state == .refunded || derived.state == .reversed ? nil : charge.refund,
            presentment: presentment
        )
    }

    /// Whether lost disputes over `lost` were about all of the sum that refunds had `left`, so that at most a tenth
    /// remains.
    ///
    /// The sum of a dispute over a whole payment differs from it if the exchange rate has changed. *Source*:
    /// <https://docs.stripe.com/api/disputes/object>, `amount`.
    private static func isWhole(_ lost: Amount, of left: Amount) -> Bool {
        (left - lost).minorUnits <= left.minorUnits / 10
    }

    /// Returns the state from a charge without money; `nil` when the object decides.
    private static func stateOfCharge(_ facts: PaymentFacts) -> StateAndReason? {
        let isIntent = facts.kind == .paymentIntent || facts.kind == .setupIntent
        if isIntent, facts.status?.description == "canceled" { return nil }
        let status: ObservedCharge.Status? =
            facts.charge?.status ?? (facts.isRefused ? .failed : nil)
        switch status {
        case .succeeded:
            if facts.charge?.isReleased == true {
                return facts.charge?.hasLapsed == true
                    ? (.expired, .authorisationExpired) : (.cancelled, .released)
            }
            if !isIntent, hasLapsed(facts) { return (.expired, .authorisationExpired) }
            return (.authorised, nil)
        case .pending: return (.processing, nil)
        case .failed:
            // An intent that continues has a new attempt, which the old charge does not describe.
            if isIntent, facts.status?.description != "requires_payment_method" { return nil }
            let failure = facts.charge?.failure ?? facts.failure
            return failed(failure)
        case nil: return nil
        }
    }

    /// Whether the end of a hold has passed, for a charge that only shows when it ends.
    private static func hasLapsed(_ facts: PaymentFacts) -> Bool {
        guard let end = facts.charge?.captureBefore, let seenAt = facts.seenAt else { return false }
        return seenAt + holdTolerance >= end
    }

    /// The tolerance for the upstream's clock being ahead: the event for the end of a hold is sent at its end.
    private static let holdTolerance = Duration.seconds(60)

    private static func failed(_ failure: PaymentFacts.Failure?) -> StateAndReason {
        let reason = PaymentReason(code: failure?.code, decline: failure?.decline)
        return (reason == .unused ? .expired : .failed, reason)
    }

    private static func stateOfObject(_ facts: PaymentFacts) -> StateAndReason {
        guard let status = facts.status?.description else { return (.unknown, nil) }
        switch facts.kind {
        case .source: return stateOfSource(status, facts)
        case .paymentIntent, .setupIntent: return stateOfIntent(status, facts)
        case .charge, .http, .other: return (.unknown, nil)
        }
    }

    private static func stateOfSource(_ status: String, _ facts: PaymentFacts) -> StateAndReason {
        let kept = max(.zero, (facts.received ?? .zero) - facts.returned)
        let isShort = kept > 0 && facts.amount.map { kept < $0 } ?? false
        switch status {
        case "pending":
            if isShort { return (.partiallyPaid, nil) }
            // The sum has arrived or the customer has answered, so the bank's answer is pending.
            let isDone = kept > 0 || facts.isAnswered || facts.failure != nil
            return (isDone ? .processing : .awaitingCustomer, nil)
        case "chargeable":
            if isShort { return (.partiallyPaid, nil) }
            return (.authorised, facts.usage == .reusable && kept == 0 ? .saved : nil)
        case "consumed":
            // By a charge that was not observed yet. A customer's source is also consumed when it is detached.
            return facts.isAttached && facts.usage != .singleUse
                ? (.unknown, .detached) : (.processing, nil)
        case "failed": return failed(facts.failure)
        case "canceled":
            let wasChargeable = facts.isAnswered || (facts.received ?? .zero) > 0
            return (.expired, wasChargeable ? .notChargedInTime : .unused)
        default: return (.unknown, nil)
        }
    }

    private static func stateOfIntent(_ status: String, _ facts: PaymentFacts) -> StateAndReason {
        switch status {
        case "requires_payment_method", "requires_source":
            return facts.failure == nil ? (.awaitingCustomer, nil) : failed(facts.failure)
        case "requires_confirmation": return (.awaitingCustomer, nil)
        case "requires_action", "requires_source_action":
            return ((facts.received ?? .zero) > 0 ? .partiallyPaid : .awaitingCustomer, nil)
        case "processing": return (.processing, nil)
        case "requires_capture": return (.authorised, nil)
        // A payment without a sum is unknown. A saved payment method is for a later payment.
        case "succeeded":
            return facts.kind == .setupIntent ? (.authorised, .saved) : (.unknown, nil)
        case "canceled": return cancelled(facts)
        default: return (.unknown, nil)
        }
    }

    /// Returns the state of a cancelled intent.
    ///
    /// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `cancellation_reason`.
    private static func cancelled(_ facts: PaymentFacts) -> StateAndReason {
        // Stripe cancels intents automatically when a hold ends, and after too many attempts. Since 2025-03-31.basil
        // `expired` is used only for holds (<doc:StripeVersions>). A failed attempt is not a hold.
        let wasHeld = facts.charge?.status == .succeeded
        let hasFailed =
            facts.charge?.status == .failed || facts.charge == nil && facts.failure != nil
        return switch facts.cancellation {
        case "automatic": (.expired, wasHeld ? .authorisationExpired : nil)
        case "expired": (.expired, hasFailed ? .unused : .authorisationExpired)
        case "abandoned": (.expired, .abandoned)
        case "duplicate": (.cancelled, .duplicate)
        case "fraudulent": (.cancelled, .fraudulent)
        case "requested_by_customer": (.cancelled, .requested)
        default: (.cancelled, nil)
        }
    }
}
