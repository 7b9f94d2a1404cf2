package import PollerIdentity

/// What was seen of a payment: the object, its charge and what became of that; all that a ``Payment``
/// rests on.
///
/// Adapters read it from what an upstream answers. Whatever they do not find stays nil or zero, and
/// nothing is concluded from it.
package struct PaymentFacts: Hashable, Sendable {
    /// How often a source may be charged.
    package enum Usage: String, Hashable, Sendable, CaseIterable {
        case singleUse = "single_use"
        case reusable
    }

    /// What sort of object was seen.
    package let kind: SourceKind
    /// Its own status.
    package var status: SourceStatus?
    /// Of a source.
    package var usage: Usage?
    /// A source that belongs to a customer, now or when it was seen before: taking it from the customer
    /// consumes it, and nothing is paid by that.
    package var isAttached = false
    package var method: PaymentMethod?
    /// What is to be paid, in the currency's smallest unit.
    package var amount: Amount?
    /// Three letters, lower case.
    package var currency: String?
    /// What the object itself says has arrived; nil when it does not say.
    package var received: Amount?
    /// The object was read and has no sum that could be.
    package var hasUnreadableSum = false
    /// What it says was sent back to the payer.
    package var returned = Amount.zero
    /// The upstream's words for why the last try failed; nil when none has.
    package var failure: Failure?
    /// Why an intent was cancelled, in the upstream's word.
    package var cancellation: String?
    /// The customer has done what a redirect or a code asked for, whatever came of it.
    package var isAnswered = false
    /// The charge that matters.
    package var charge: ChargeFacts?
    /// The intent that a charge belongs to.
    package var intent: SourceID?
    /// A charge of ours was refused before there was one.
    package var isRefused = false
    /// That was not now: it is remembered, and why it was is not.
    package var isRefusedBefore = false
    /// What the object asks of the customer.
    package var step = NextStep.none
    /// The upstream's own word for the payment, where it has one and an operator has said what it means.
    package var claim: PaymentState?
    /// How long a source of its method lives, where an operator has said so; nil for what is documented.
    package var sourceLife: SourceLife?
    /// Money has to go back, and nobody has said to which account.
    package var awaitsRefundAccount = false
    /// What the customer was shown in another currency, as the object itself says.
    package var presentment: Presentment?
    /// Whether real money is meant; nil when the object does not say.
    package var isLive: Bool?
    /// When the object was made, by the upstream's clock.
    package var created: Timestamp?
    /// When this was seen, by the store's clock.
    package var seenAt: Timestamp?

    /// Why a try failed.
    package struct Failure: Hashable, Sendable {
        /// A stable word of the upstream's.
        package let code: String?
        /// The issuer's own.
        package let decline: String?

        /// Describes a failure.
        package init(code: String?, decline: String? = nil) {
            self.code = code
            self.decline = decline
        }
    }

    /// Facts of an object of which nothing is known yet.
    package init(kind: SourceKind) {
        self.kind = kind
    }

    /// The same with what was known of its charge before.
    package func following(_ earlier: ChargeFacts?) -> PaymentFacts {
        guard let earlier else { return dated }
        // What a used-up source made us believe gives way to its charge, once that is seen.
        if kind == .source, earlier.id == nil, let charge, charge.id != nil, !charge.hasMoney {
            return dated
        }
        var facts = self
        facts.charge = charge.map { $0.following(earlier) } ?? earlier
        if kind == .paymentIntent, earlier.hasMoney { facts.captureMore(than: earlier) }
        return facts.dated
    }

    /// Adds what an intent says of the further captures of a hold of which a part was captured before.
    private mutating func captureMore(than earlier: ChargeFacts) {
        guard var charge, let status else { return }
        // What was captured for the last time stays so.
        charge.mayCaptureMore = earlier.mayCaptureMore && status == .requiresCapture
        // Where the charge itself is not seen, the intent says how much was captured.
        if earlier.mayCaptureMore, charge.captured == earlier.captured, let received {
            charge.captured = max(received, charge.captured)
        }
        self.charge = charge
    }

    /// The same with the instant at which a charge of it was first seen to have succeeded.
    ///
    /// A method that settles at once was paid when it was charged. Of the others nobody tells when the
    /// bank agreed: it was by the time we saw it.
    private var dated: PaymentFacts {
        guard var charge, charge.hasMoney, charge.paidAt == nil else { return self }
        let isAtOnce = (charge.method ?? method)?.traits.settles == .zero
        charge.paidAt = isAtOnce ? charge.created ?? seenAt : seenAt ?? charge.created
        var facts = self
        facts.charge = charge
        return facts
    }

    /// What the customer was shown: as the charge says, which knows what went back of it.
    var presentedSums: Presentment? { charge?.presentment ?? presentment }

    /// How it is paid: a source is of one method for good, an intent of its charge's.
    var paidBy: PaymentMethod? {
        kind == .source ? method ?? charge?.method : charge?.method ?? method
    }

    /// What proves that money has arrived; nil when nothing does.
    ///
    /// The charge itself; else an intent that has succeeded, or that has captured a part of its hold; else a
    /// source that its one charge has used up, when its method settles at once and no charge of it is known that
    /// says otherwise.
    ///
    /// An intent that has succeeded while its charge is pending contradicts itself, and proves nothing.
    var evidence: ChargeFacts? {
        if let charge, charge.hasMoney, !charge.hasUnknownSum || kind != .paymentIntent {
            return charge
        }
        switch (kind, status?.description) {
        case (.paymentIntent, "requires_capture"):
            guard charge == nil, let received, received > 0 else { return nil }
            var proof = ChargeFacts(status: .succeeded)
            proof.captured = received
            proof.mayCaptureMore = amount.map { received < $0 } ?? true
            proof.paidAt = seenAt
            return proof
        case (.paymentIntent, "succeeded"):
            guard charge?.status != .pending else { return nil }
            let sum = received ?? charge?.amount ?? amount ?? .zero
            // A sum of zero is no payment; one that cannot be read is one.
            guard sum > 0 || hasUnreadableSum else { return nil }
            var proof = charge ?? ChargeFacts(status: .succeeded)
            proof.hasUnknownSum = sum == 0
            // It had succeeded, or the intent would not say so.
            proof.isReturned = charge?.status == .failed
            proof.status = .succeeded
            proof.captured = sum
            proof.paidAt = proof.paidAt ?? seenAt
            return proof
        case (.source, "consumed"):
            guard usage == .singleUse, let method, method.traits.isPaidOnceConsumed,
                charge == nil, !isRefused, let amount, amount > 0
            else { return nil }
            var proof = ChargeFacts(status: .succeeded)
            proof.captured = amount
            proof.paidAt = seenAt
            return proof
        default: return charge.flatMap { $0.hasMoney ? $0 : nil }
        }
    }
}

/// What was seen of a charge, and of its refunds and disputes.
///
/// *Evidence only grows*: ``following(_:)`` joins what was seen now to what was seen before, so that a
/// late or stale answer takes nothing back.
package struct ChargeFacts: Hashable, Sendable {
    /// Nil when an intent or a used-up source is all that shows it.
    package var id: ChargeID?
    package var status: ChargeSeen.Status
    /// What was to be charged.
    package var amount: Amount?
    /// Of its sums; three letters, lower case.
    package var currency: String?
    /// What was taken; 0 while it is only authorised.
    package var captured = Amount.zero
    /// It was taken, and how much cannot be read; then ``captured`` is zero.
    package var hasUnknownSum = false
    /// What was given back by refunds that have succeeded.
    package var refunded = Amount.zero
    /// Whether another sum may have been given back: what was seen of the charge does not show which.
    package var isRefundDoubtful = false
    /// All of an unknown sum was given back.
    package var isGivenBack = false
    /// A refund that is on its way, waits for the customer, or came to nothing last.
    package var refund: RefundProgress?
    /// The answer says that there are refunds, and does not list them all.
    package var lacksRefunds = false
    /// It was authorised and will not be taken any more.
    package var isReleased = false
    /// The bank, or nobody in time, has ended the authorisation.
    package var hasLapsed = false
    /// A part of what was authorised is captured, and the rest is still held (multicapture).
    package var mayCaptureMore = false
    /// It had succeeded, and the bank has taken it back.
    package var isReturned = false
    /// It was given back because its order was paid by another (``DuplicateRefunds``).
    package var isDuplicate = false
    package var dispute = DisputeState.none
    /// What the payer's bank asks for; nil for all of it.
    package var disputed: Amount?
    /// When the authorisation ends by itself.
    package var captureBefore: Timestamp?
    /// When the charge was made, by the upstream's clock.
    package var created: Timestamp?
    /// When it had succeeded.
    package var paidAt: Timestamp?
    package var method: PaymentMethod?
    /// What the customer was shown in another currency.
    package var presentment: Presentment?
    /// The upstream's words for why it failed.
    package var failure: PaymentFacts.Failure?

    /// Facts of a charge of which no more is known.
    package init(id: ChargeID? = nil, status: ChargeSeen.Status) {
        self.id = id
        self.status = status
    }

    /// Whether money was taken by it, whatever became of that.
    package var hasMoney: Bool {
        (captured > 0 || hasUnknownSum) && (status == .succeeded || isReturned)
    }

    /// Whether all that was taken was given back.
    var isRefunded: Bool { captured > 0 && refunded >= captured }

    /// A hold that was cancelled or has expired, which the charge itself does not show (<doc:StripeVersions>).
    func endingHold(byLapse: Bool) -> ChargeFacts {
        guard status == .succeeded, captured == 0 else { return self }
        var facts = self
        facts.isReleased = true
        facts.hasLapsed = facts.hasLapsed || byLapse
        return facts
    }

    /// Reasons with which Stripe cancels an intent whose hold has expired: today's, and the one used before
    /// version 2025-03-31.basil.
    static let lapses: Set<String> = ["expired", "automatic"]

    /// The same, joined to what was known before.
    ///
    /// | before | now | is |
    /// |---|---|---|
    /// | another charge, with money | without | the one with money |
    /// | succeeded | pending | succeeded: the answer was a stale one |
    /// | succeeded | failed | returned by the bank, and stays so |
    /// | failed | pending | failed |
    /// | dispute won, lost or an inquiry | only `disputed` | what is known of it |
    /// | all refunded, never disputed | only `disputed` | an open dispute: it began after the refund |
    ///
    /// Refunds are what is seen now: one can fail, and then the money is back with the shop
    /// (<https://docs.stripe.com/refunds#failed-refunds>).
    package func following(_ earlier: ChargeFacts) -> ChargeFacts {
        if let id, let before = earlier.id, id != before {
            return earlier.hasMoney && !hasMoney ? earlier : self
        }
        let isStale = status == .pending && earlier.status != .pending
        var facts = isStale ? earlier : self
        facts.id = id ?? earlier.id
        facts.paidAt = earlier.paidAt ?? paidAt
        facts.method = method ?? earlier.method
        facts.amount = amount ?? earlier.amount
        facts.created = created ?? earlier.created
        facts.presentment = presentment ?? earlier.presentment
        facts.isDuplicate = isDuplicate || earlier.isDuplicate
        guard !isStale else { return facts }
        if earlier.hasMoney {
            facts.captured = max(captured, earlier.captured)
            facts.hasUnknownSum =
                facts.captured == 0 && (hasUnknownSum || earlier.hasUnknownSum)
            facts.isReturned = earlier.isReturned || status == .failed
            facts.mayCaptureMore = mayCaptureMore && earlier.mayCaptureMore
        }
        facts.isReleased =
            facts.captured == 0 && !facts.hasUnknownSum && (isReleased || earlier.isReleased)
        facts.hasLapsed = facts.isReleased && (hasLapsed || earlier.hasLapsed)
        if dispute.isVague, !earlier.dispute.isVague {
            facts.dispute = earlier.dispute
            facts.disputed = disputed ?? earlier.disputed
        } else if dispute == .claimed, earlier.isRefunded, earlier.dispute == .none {
            facts.dispute = .open
        }
        return facts
    }
}

/// What is known of a payer's objection to a charge.
///
/// | dispute's own status | state |
/// |---|---|
/// | `warning_needs_response`, `warning_under_review` | inquiry: nothing was taken |
/// | `needs_response`, `under_review`, `appeal_needs_response`, `appeal_under_review` | open: the sum was taken back for now |
/// | `won`, `warning_closed`, `prevented`, once also `charge_refunded` | over: what stays is the charge's to say |
/// | `lost` | lost |
///
/// A charge alone says only that it was disputed; what became of that only the list of its disputes
/// tells, of which it can have several, one after the other.
/// *Source*: <https://docs.stripe.com/api/disputes/list>, <https://github.com/stripe/openapi/issues/156>,
/// <https://docs.stripe.com/disputes/how-disputes-work>.
package enum DisputeState: Character, Hashable, Sendable, CaseIterable {
    /// The charge was not disputed.
    case none = "-"
    /// The charge was disputed, and no more is known.
    case claimed = "c"
    case inquiry = "i"
    case open = "o"
    case over = "w"
    case lost = "l"

    /// The state of a dispute by its own status; one we do not know is open.
    package init(status: String) {
        self =
            switch status {
            case "warning_needs_response", "warning_under_review": .inquiry
            case "won", "warning_closed", "prevented", "charge_refunded": .over
            case "lost": .lost
            default: .open
            }
    }

    /// Whether a dispute itself was never looked at.
    var isVague: Bool { self == .none || self == .claimed }

    /// The graver of two, of several disputes of one charge.
    package func graver(_ other: DisputeState) -> DisputeState {
        let order: [DisputeState] = [.none, .over, .inquiry, .claimed, .open, .lost]
        let mine = order.firstIndex(of: self) ?? 0
        let theirs = order.firstIndex(of: other) ?? 0
        return mine < theirs ? other : self
    }
}
