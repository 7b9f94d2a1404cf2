package import JSONText
import PollerIdentity
package import PollerPayments

extension ChargeFacts {
    /// Reads a Stripe charge, or returns `nil` if the object is not a charge.
    ///
    /// `amount_captured` is newer than the object. If it is missing, a captured charge counts as captured in full. An
    /// amount counts only after the charge has succeeded, because a pending debit shows it, too. A charge that has
    /// succeeded but is not `paid` contradicts itself and counts as pending until both agree. A captured charge
    /// counts as paid even if none of its amounts can be read.
    /// *Source*: <https://docs.stripe.com/api/charges/object>, <doc:StripeVersions>.
    ///
    /// `refunds` is Stripe's list of the charge's refunds, if it was read separately.
    package init?(charge json: RawJSON, refunds: RawJSON? = nil) {
        self.init(StripeFields(json), refunds: refunds)
    }

    init?(_ fields: StripeFields, refunds list: RawJSON? = nil) {
        guard let id = fields.text("id"), let source = try? SourceID(id),
            let reportedStatus = fields.word("status").flatMap(
                ObservedCharge.Status.init(rawValue:)
            )
        else { return nil }
        let status =
            reportedStatus == .succeeded && fields.flag("paid") == false ? .pending : reportedStatus
        self.init(id: source, status: status)
        amount = fields.sum("amount")
        currency = fields.word("currency")
        created = fields.time("created")
        let refunds = ChargeRefunds(of: fields, list: list.map { StripeFields($0) })
        refund = refunds.progress
        failedRefund = refunds.lastFailed
        let isRefunded = fields.flag("refunded") ?? false
        let total = fields.sum("amount_refunded") ?? .zero
        lacksRefunds = (total > 0 || isRefunded) && !refunds.isComplete
        if status == .succeeded { readMoney(fields, refunds) }
        presentment = refunds.presentment(fields, amountReturned: refunded, of: amount)
        let details = fields.object("payment_method_details")
        method = PaymentMethod(details.word("type") ?? fields.object("source").word("type"))
        captureBefore = details.word("type").flatMap { details.object($0).time("capture_before") }
        // The charge shows only that a dispute exists or existed.
        if fields.flag("disputed") == true || fields.id("dispute") != nil { dispute = .claimed }
        let seen = fields.object("dispute")
        if !seen.isEmpty { note([seen]) }
        if status == .failed {
            let outcome = fields.object("outcome").word("reason")
            failure = PaymentFacts.Failure(
                code: fields.word("failure_code") ?? "declined",
                decline: outcome
            )
        }
    }

    /// Reads the captured, refunded and released amounts of an authorisation.
    private mutating func readMoney(_ fields: StripeFields, _ refunds: ChargeRefunds) {
        let isCaptured = fields.flag("captured")
        let isRefunded = fields.flag("refunded") ?? false
        let total = fields.sum("amount_refunded") ?? .zero
        let taken = fields.sum("amount_captured") ?? (isCaptured == true ? amount ?? .zero : .zero)
        if taken > 0 {
            captured = taken
            mayCaptureMore = isCaptured == false && amount.map { taken < $0 } ?? false
            let account = RefundedSums(fields, captured: taken, mayCaptureMore: mayCaptureMore)
            // Before 2025-03-31.basil the released rest of a partial capture was a refund, too, and it has succeeded.
            refunded = max(.zero, refunds.amountReturned(of: total) - (total - account.refunded))
            // The charge does not show which of two amounts is right. The caller can read its balance transaction.
            isRefundDoubtful = account.isDoubtful
        } else if isCaptured == true, amount == nil, fields.sum("amount_captured") == nil {
            hasUnknownSum = true
            refunded = refunds.amountReturned(of: total)
            isGivenBack = isRefunded && refund == nil
        } else {
            // Until 2025-03-31.basil an expired authorisation was refunded. Since then the charge does not show it.
            isReleased = isRefunded || total > 0
            hasLapsed = fields.list("refunds").contains {
                $0.word("reason") == "expired_uncaptured_charge"
            }
        }
    }

    /// Returns the same charge with its disputes from Stripe's complete list.
    package func disputed(by disputes: [RawJSON]) -> ChargeFacts {
        var facts = self
        facts.note(disputes.map { StripeFields($0) })
        return facts
    }

    /// Records the most serious dispute, and the total amount of the disputes in that state.
    ///
    /// An open dispute counts before lost ones that leave a part of the money, because the shop can still answer it.
    /// A dispute may have another currency than its charge. Then its amount in the charge's currency is unknown.
    private mutating func note(_ disputes: [StripeFields]) {
        let found = disputes.compactMap { fields in
            fields.word("status").map { status in
                let unit = fields.word("currency")
                let haveSameUnit = unit == nil || currency == nil || unit == currency
                return (
                    DisputeState(status: status), haveSameUnit ? fields.sum("amount") : nil
                )
            }
        }
        guard let first = found.first else { return }
        dispute = found.dropFirst().reduce(first.0) { $0.moreSerious($1.0) }
        func total(_ state: DisputeState) -> Amount? {
            let sums = found.filter { $0.0 == state }.map(\.1)
            // Without an amount the dispute covers the whole charge.
            return sums.contains(nil) ? nil : sums.reduce(.zero) { $0 + ($1 ?? .zero) }
        }
        if dispute == .lost, found.contains(where: { $0.0 == .open }), let lost = total(.lost),
            refunded + lost < captured
        {
            dispute = .open
        }
        disputed = total(dispute)
    }
}
