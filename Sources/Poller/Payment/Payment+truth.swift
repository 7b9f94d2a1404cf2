import PollerIdentity

// How a word is found. The first row that fits is the truth:
//
// | seen | word | why |
// |---|---|---|
// | money, a dispute lost | reversed | dispute_lost |
// | money, and the charge has failed since | reversed | bank_returned |
// | money, a dispute that is open, whatever was given back | disputed | |
// | money captured from a hold, and the rest is still held | partially_paid | held |
// | money, all of it given back | refunded | duplicate, if its order was paid twice |
// | money, a dispute of which no more is known | disputed | |
// | money, part of it given back | partially_refunded | |
// | money | paid | inquiry, if the bank only asks |
// | an intent that is canceled | expired, cancelled | by its reason |
// | a charge that was authorised and released | expired, cancelled | authorisation_expired, released |
// | a charge that is authorised | authorised | |
// | a charge that is pending | processing | |
// | a charge that has failed or was refused, and no new try | failed | by its code |
// | nothing of a charge | by the object's status | |
//
// An upstream that is described by configuration says the word itself (``PaymentFacts/claim``): of its
// money that word tells. One without money takes back none that was seen; the rows above then hold.
//
// Money is a charge that has succeeded and was captured; an intent that has succeeded; or a source that
// a method settling at once has used up (``PaymentFacts/evidence``). No clock decides about a word: what
// ends by time was seen to have ended. The one exception is a hold without an intent: Stripe shows on its
// charge when it ends (`capture_before`), and not that it has ended.

extension Payment {
    /// What is true, by what was seen.
    ///
    /// Total: whatever the facts are, they have a word.
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
        let word = Self.wordOfCharge(facts) ?? Self.wordOfObject(facts)
        // What an intent says it has received counts once its charge agrees.
        let isDenied = facts.kind == .paymentIntent && facts.charge?.status == .pending
        self.init(
            state: word.state,
            amount: facts.amount ?? facts.charge?.amount,
            amountReceived: isDenied ? .zero : facts.received ?? .zero,
            amountReturned: facts.returned,
            currency: facts.currency,
            method: facts.paidBy,
            reason: word.reason,
            presentment: facts.presentedSums
        )
    }

    /// What the upstream itself says, with the money that was seen.
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

    /// A word and why.
    private typealias Word = (state: PaymentState, reason: PaymentReason?)

    /// What became of money that has arrived.
    private init(_ facts: PaymentFacts, _ charge: ChargeFacts) {
        let captured = charge.captured
        // Of an unknown sum, what went back of it is all that is known.
        let refunded =
            charge.hasUnknownSum ? charge.refunded : min(max(charge.refunded, .zero), captured)
        var returned = refunded
        let word: Word
        if charge.dispute == .lost {
            // Never more than what was there.
            returned = min(captured, refunded + max(charge.disputed ?? captured, .zero))
            word = (.reversed, .disputeLost)
        } else if charge.isReturned {
            returned = captured
            word = (.reversed, .bankReturned)
        } else if charge.dispute == .open {
            word = (.disputed, nil)
        } else if charge.mayCaptureMore {
            word = (.partiallyPaid, .held)
        } else if charge.hasUnknownSum ? charge.isGivenBack : refunded == captured {
            word = (.refunded, charge.isDuplicate ? .duplicate : nil)
        } else if charge.dispute == .claimed {
            word = (.disputed, nil)
        } else if refunded > 0 {
            word = (.partiallyRefunded, nil)
        } else {
            word = (.paid, charge.dispute == .inquiry ? .inquiry : nil)
        }
        self.init(
            state: word.state,
            amount: facts.amount ?? charge.amount,
            amountReceived: captured,
            amountReturned: returned,
            currency: facts.currency,
            method: facts.paidBy,
            paidAt: charge.paidAt,
            reason: word.reason,
            // Of money that is gone no refund is waited for.
            refund: word.state.isPaid || word.state == .disputed ? charge.refund : nil,
            presentment: facts.presentedSums
        )
    }

    /// What a charge without money says; nil when the object decides.
    private static func wordOfCharge(_ facts: PaymentFacts) -> Word? {
        let isIntent = facts.kind == .paymentIntent || facts.kind == .setupIntent
        if isIntent, facts.status?.description == "canceled" { return nil }
        let status: ChargeSeen.Status? = facts.charge?.status ?? (facts.isRefused ? .failed : nil)
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
            // An intent that goes on has a new try, which the old charge says nothing about.
            if isIntent, facts.status?.description != "requires_payment_method" { return nil }
            let failure = facts.charge?.failure ?? facts.failure
            return failed(failure)
        case nil: return nil
        }
    }

    /// Whether the end of a hold has passed, of which its charge shows no more than when it is.
    private static func hasLapsed(_ facts: PaymentFacts) -> Bool {
        guard let end = facts.charge?.captureBefore, let seenAt = facts.seenAt else { return false }
        return seenAt + holdTolerance >= end
    }

    /// How far the upstream's clock may be ahead of ours: the event that a hold has ended comes at its end.
    private static let holdTolerance = Duration.seconds(60)

    private static func failed(_ failure: PaymentFacts.Failure?) -> Word {
        let reason = PaymentReason(code: failure?.code, decline: failure?.decline)
        return (reason == .unused ? .expired : .failed, reason)
    }

    private static func wordOfObject(_ facts: PaymentFacts) -> Word {
        guard let status = facts.status?.description else { return (.unknown, nil) }
        switch facts.kind {
        case .source: return wordOfSource(status, facts)
        case .paymentIntent, .setupIntent: return wordOfIntent(status, facts)
        case .charge, .http, .other: return (.unknown, nil)
        }
    }

    private static func wordOfSource(_ status: String, _ facts: PaymentFacts) -> Word {
        let kept = max(.zero, (facts.received ?? .zero) - facts.returned)
        let isShort = kept > 0 && facts.amount.map { kept < $0 } ?? false
        switch status {
        case "pending":
            if isShort { return (.partiallyPaid, nil) }
            // All of it is there, or the customer has answered: the bank's word is on its way.
            let isDone = kept > 0 || facts.isAnswered || facts.failure != nil
            return (isDone ? .processing : .awaitingCustomer, nil)
        case "chargeable":
            if isShort { return (.partiallyPaid, nil) }
            return (.authorised, facts.usage == .reusable && kept == 0 ? .saved : nil)
        case "consumed":
            // By a charge that nobody has seen yet; one of a customer also by being taken from them.
            return facts.isAttached && facts.usage != .singleUse
                ? (.unknown, .detached) : (.processing, nil)
        case "failed": return failed(facts.failure)
        case "canceled":
            let hadAgreed = facts.isAnswered || (facts.received ?? .zero) > 0
            return (.expired, hadAgreed ? .notChargedInTime : .unused)
        default: return (.unknown, nil)
        }
    }

    private static func wordOfIntent(_ status: String, _ facts: PaymentFacts) -> Word {
        switch status {
        case "requires_payment_method", "requires_source":
            return facts.failure == nil ? (.awaitingCustomer, nil) : failed(facts.failure)
        case "requires_confirmation": return (.awaitingCustomer, nil)
        case "requires_action", "requires_source_action":
            return ((facts.received ?? .zero) > 0 ? .partiallyPaid : .awaitingCustomer, nil)
        case "processing": return (.processing, nil)
        case "requires_capture": return (.authorised, nil)
        // A payment without a sum is none; a way to pay that was set up is one to come.
        case "succeeded":
            return facts.kind == .setupIntent ? (.authorised, .saved) : (.unknown, nil)
        case "canceled": return cancelled(facts)
        default: return (.unknown, nil)
        }
    }

    /// What an intent's cancellation means.
    ///
    /// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `cancellation_reason`.
    private static func cancelled(_ facts: PaymentFacts) -> Word {
        // Stripe ends intents by itself when a hold is over, and after too many tries. `expired` is said of holds
        // alone, since 2025-03-31.basil (<doc:StripeVersions>); a try that has failed was none.
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
