package import PollerIdentity

/// The observed facts from which a ``Payment`` is derived: the object, its charge, and the state of that charge.
///
/// Adapters extract them from the upstream's answers. Missing values stay `nil` or zero, and no conclusion is drawn
/// from them.
package struct PaymentFacts: Hashable, Sendable {
    /// Whether a source may be charged once or repeatedly.
    package enum Usage: String, Hashable, Sendable, CaseIterable {
        case singleUse = "single_use"
        case reusable
    }

    /// The kind of the observed object.
    package let kind: SourceKind
    /// The status of the object.
    package var status: SourceStatus?
    /// The usage of a source.
    package var usage: Usage?
    /// Whether the source belongs to a customer, now or when it was last read.
    ///
    /// Detaching it from the customer consumes it without a payment.
    package var isAttached = false
    package var method: PaymentMethod?
    /// The amount to be paid, in the currency's smallest unit.
    package var amount: Amount?
    /// The currency, three lower-case letters.
    package var currency: String?
    /// The received amount according to the object; `nil` if the object does not contain it.
    package var received: Amount?
    /// Whether the object was read but contains no readable sum.
    package var hasUnreadableSum = false
    /// The returned amount according to the object.
    package var returned = Amount.zero
    /// The upstream's codes for the failure of the last attempt; `nil` without one.
    package var failure: Failure?
    /// The upstream's reason for the cancellation of an intent.
    package var cancellation: String?
    /// Whether the customer has completed a redirect or a code, with any result.
    package var isAnswered = false
    /// The relevant charge.
    package var charge: ChargeFacts?
    /// The intent of a charge.
    package var intent: SourceID?
    /// Whether a charge by this system was refused before a charge object existed.
    package var isRefused = false
    /// Whether that refusal is only remembered, without its reason.
    package var isRefusedBefore = false
    /// The action that the object requires from the customer.
    package var step = NextStep.none
    /// The payment state of an upstream whose configuration maps its statuses.
    package var claim: PaymentState?
    /// The configured lifetime of a source of its method; `nil` for the documented one.
    package var sourceLifetime: SourceLifetime?
    /// Whether a refund waits for the payer's account.
    package var awaitsRefundAccount = false
    /// The amount shown to the customer in another currency, according to the object.
    package var presentment: Presentment?
    /// Whether it is a live payment; `nil` if the object does not say.
    package var isLive: Bool?
    /// The creation time of the object, by the upstream's clock.
    package var created: Timestamp?
    /// The time of the observation, by the store's clock.
    package var seenAt: Timestamp?

    /// The codes of a failed attempt.
    package struct Failure: Hashable, Sendable {
        /// The upstream's stable code.
        package let code: String?
        /// The issuer's code.
        package let decline: String?

        package init(code: String?, decline: String? = nil) {
            self.code = code
            self.decline = decline
        }
    }

    /// Creates facts with only a kind.
    package init(kind: SourceKind) {
        self.kind = kind
    }

    /// Returns the facts merged with earlier facts of the charge.
    package func following(_ earlier: ChargeFacts?) -> PaymentFacts {
        guard let earlier else { return dated }
        // A conclusion from a consumed source is replaced by its charge, once that is observed.
        if kind == .source, earlier.id == nil, let charge, charge.id != nil, !charge.hasMoney {
            return dated
        }
        var facts = self
        facts.charge = charge.map { $0.following(earlier) } ?? earlier
        if kind == .paymentIntent, earlier.hasMoney { facts.captureMore(than: earlier) }
        return facts.dated
    }

    /// Adds an intent's data on further captures of a partly captured hold.
    private mutating func captureMore(than earlier: ChargeFacts) {
        guard var charge, let status else { return }
        // A final capture stays final.
        charge.mayCaptureMore = earlier.mayCaptureMore && status == .requiresCapture
        // If the charge was not read, the intent contains the captured amount.
        if earlier.mayCaptureMore, charge.captured == earlier.captured, let received {
            charge.captured = max(received, charge.captured)
        }
        self.charge = charge
    }

    /// The facts with the time at which the charge was first observed as succeeded.
    ///
    /// A method with immediate settlement was paid at the time of the charge. For other methods the time of the bank's
    /// answer is unknown: the payment happened before the observation.
    private var dated: PaymentFacts {
        guard var charge, charge.hasMoney, charge.paidAt == nil else { return self }
        let isAtOnce = (charge.method ?? method)?.traits.settles == .zero
        charge.paidAt = isAtOnce ? charge.created ?? seenAt : seenAt ?? charge.created
        var facts = self
        facts.charge = charge
        return facts
    }

    /// The amount shown to the customer; the charge has priority, because it contains refunds.
    var presentedSums: Presentment? { charge?.presentment ?? presentment }

    /// The payment method: a source has a fixed method, an intent that of its charge.
    var paidBy: PaymentMethod? {
        kind == .source ? method ?? charge?.method : charge?.method ?? method
    }

    /// The evidence that money has arrived; `nil` without any.
    ///
    /// It is the charge itself. Without one it is an intent that has succeeded or captured a part of its hold.
    /// Otherwise it is a source consumed by its single charge, if its method settles immediately and no known charge
    /// contradicts it.
    ///
    /// An intent that has succeeded while its charge is pending contradicts itself, and is no evidence.
    package var evidence: ChargeFacts? {
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
            // A sum of zero is no payment; an unreadable sum is one.
            guard sum > 0 || hasUnreadableSum else { return nil }
            var proof = charge ?? ChargeFacts(status: .succeeded)
            proof.hasUnknownSum = sum == 0
            // The charge had succeeded earlier, because the intent has succeeded.
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

/// The observed facts of a charge, its refunds and its disputes.
///
/// *Evidence only grows*: ``following(_:)`` merges new facts with earlier ones, so that a late or stale answer takes
/// nothing back.
package struct ChargeFacts: Hashable, Sendable {
    /// The ID; `nil` if only an intent or a consumed source shows the charge.
    package var id: ChargeID?
    package var status: ObservedCharge.Status
    package var amount: Amount?
    /// The currency of its sums, three lower-case letters.
    package var currency: String?
    /// The captured amount; 0 while it is only authorised.
    package var captured = Amount.zero
    /// Whether an unreadable amount was captured; then ``captured`` is zero.
    package var hasUnknownSum = false
    /// The amount of the succeeded refunds.
    package var refunded = Amount.zero
    /// Whether the refunded amount is uncertain, because the observed object does not show it.
    package var isRefundDoubtful = false
    /// Whether all of an unknown amount was refunded.
    package var isGivenBack = false
    /// A refund that is pending, waits for the customer, or has failed.
    package var refund: RefundProgress?
    /// The newest refund that has failed or was cancelled, even if a newer refund has succeeded.
    package var failedRefund: RefundProgress?
    /// Whether the answer contains only a part of the refunds.
    package var lacksRefunds = false
    /// Whether it was authorised and will not be captured any more.
    package var isReleased = false
    /// Whether the authorisation expired.
    package var hasLapsed = false
    /// Whether a part of the authorised amount is captured, and the rest is still held (multicapture).
    package var mayCaptureMore = false
    /// Whether it had succeeded and the bank has taken it back.
    package var isReturned = false
    /// Whether it was refunded because another attempt paid its order (`DuplicateRefunds`).
    package var isDuplicate = false
    package var dispute = DisputeState.none
    /// The disputed amount; `nil` for all of it.
    package var disputed: Amount?
    /// The expiry of the authorisation.
    package var captureBefore: Timestamp?
    /// The creation time of the charge, by the upstream's clock.
    package var created: Timestamp?
    /// The time at which it had succeeded.
    package var paidAt: Timestamp?
    package var method: PaymentMethod?
    /// The amount shown to the customer in another currency.
    package var presentment: Presentment?
    /// The upstream's codes for its failure.
    package var failure: PaymentFacts.Failure?

    /// Creates facts with only an ID and a status.
    package init(id: ChargeID? = nil, status: ObservedCharge.Status) {
        self.id = id
        self.status = status
    }

    /// Whether it received money, even if it was returned since.
    package var hasMoney: Bool {
        (captured > 0 || hasUnknownSum) && (status == .succeeded || isReturned)
    }

    /// Whether all of the captured amount was refunded.
    var isRefunded: Bool { captured > 0 && refunded >= captured }

    /// Returns the facts of a hold that was cancelled or has expired, which the charge itself does not show
    /// (<doc:StripeVersions>).
    package func endingHold(byLapse: Bool) -> ChargeFacts {
        guard status == .succeeded, captured == 0 else { return self }
        var facts = self
        facts.isReleased = true
        facts.hasLapsed = facts.hasLapsed || byLapse
        return facts
    }

    /// The reasons with which Stripe cancels an intent whose hold has expired: the current one, and the one before
    /// version 2025-03-31.basil.
    package static let lapses: Set<String> = ["expired", "automatic"]

    /// Returns the facts merged with earlier ones.
    ///
    /// | earlier | now | result |
    /// |---|---|---|
    /// | another charge, with money | without | the one with money |
    /// | succeeded | pending | succeeded: the answer was stale |
    /// | succeeded | failed | returned by the bank, permanently |
    /// | failed | pending | failed |
    /// | dispute won, lost or an inquiry | only `disputed` | the known dispute |
    /// | all refunded, never disputed | only `disputed` | an open dispute: it began after the refund |
    /// | more refunded | less refunded, and a failed refund | the failed refund, unless another one is open |
    ///
    /// Refunds are always the current ones: a refund can fail, and then the shop has the money again
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
        if let failedRefund, refund?.isOpen != true {
            if refunded < earlier.refunded {
                facts.refund = RefundProgress(failedRefund.status, earlier.refunded - refunded)
            } else if refund == nil, refunded == earlier.refunded, earlier.refund?.isOpen == false {
                facts.refund = earlier.refund
            }
        }
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

/// The state of the disputes of a charge.
///
/// | status of the dispute | state |
/// |---|---|
/// | `warning_needs_response`, `warning_under_review` | inquiry: nothing was taken |
/// | `needs_response`, `under_review`, also with the prefix `appeal_` | open: the sum was taken back for now |
/// | `won`, `warning_closed`, `prevented`, formerly also `charge_refunded` | over: the charge decides |
/// | `lost` | lost |
///
/// A charge only shows that it was disputed. The result is only in the list of its disputes, of which there can be
/// several in succession. *Source*: <https://docs.stripe.com/api/disputes/list>,
/// <https://github.com/stripe/openapi/issues/156>, <https://docs.stripe.com/disputes/how-disputes-work>.
package enum DisputeState: Character, Hashable, Sendable, CaseIterable {
    /// The charge was not disputed.
    case none = "-"
    /// The charge was disputed, without details.
    case claimed = "c"
    case inquiry = "i"
    case open = "o"
    case over = "w"
    case lost = "l"

    /// Creates the state from a dispute's status; an unknown one counts as open.
    package init(status: String) {
        self =
            switch status {
            case "warning_needs_response", "warning_under_review": .inquiry
            case "won", "warning_closed", "prevented", "charge_refunded": .over
            case "lost": .lost
            default: .open
            }
    }

    /// Whether the dispute itself was never read.
    var isVague: Bool { self == .none || self == .claimed }

    /// Returns the more serious state of two disputes of one charge.
    package func moreSerious(_ other: DisputeState) -> DisputeState {
        let order: [DisputeState] = [.none, .over, .inquiry, .claimed, .open, .lost]
        let mine = order.firstIndex(of: self) ?? 0
        let theirs = order.firstIndex(of: other) ?? 0
        return mine < theirs ? other : self
    }
}
