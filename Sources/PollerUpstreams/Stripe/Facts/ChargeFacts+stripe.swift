package import JSONText
package import Poller
import PollerIdentity

extension ChargeFacts {
    /// Reads one of Stripe's charges; nil when it is none.
    ///
    /// `amount_captured` is newer than the object: without it a charge that was captured has taken what
    /// was not to be left. A sum counts only once the charge has succeeded: a debit that is pending shows
    /// it as well. A charge that has succeeded and says that it is not paid contradicts itself, and is pending
    /// until it agrees. One that was captured is paid also where no sum of it can be read.
    /// *Source*: <https://docs.stripe.com/api/charges/object>, <doc:StripeVersions>.
    ///
    /// `refunds` is Stripe's list of its refunds, where it was read by itself.
    package init?(charge json: RawJSON, refunds: RawJSON? = nil) {
        self.init(StripeFields(json), refunds: refunds)
    }

    init?(_ fields: StripeFields, refunds list: RawJSON? = nil) {
        guard let id = fields.text("id"), let source = try? SourceID(id),
            let said = fields.word("status").flatMap(ChargeSeen.Status.init(rawValue:))
        else { return nil }
        let status = said == .succeeded && fields.flag("paid") == false ? .pending : said
        self.init(id: source, status: status)
        amount = fields.sum("amount")
        currency = fields.word("currency")
        created = fields.time("created")
        let refunds = ChargeRefunds(of: fields, list: list.map { StripeFields($0) })
        refund = refunds.progress
        let isRefunded = fields.flag("refunded") ?? false
        let total = fields.sum("amount_refunded") ?? .zero
        lacksRefunds = (total > 0 || isRefunded) && !refunds.isComplete
        if status == .succeeded { readMoney(fields, refunds) }
        presentment = refunds.presentment(fields, givenBack: refunded, of: amount)
        let details = fields.object("payment_method_details")
        method = PaymentMethod(details.word("type") ?? fields.object("source").word("type"))
        captureBefore = details.word("type").flatMap { details.object($0).time("capture_before") }
        // The charge says only that there is, or was, a dispute.
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

    /// What of an authorisation was captured, given back or let go.
    private mutating func readMoney(_ fields: StripeFields, _ refunds: ChargeRefunds) {
        let isCaptured = fields.flag("captured")
        let isRefunded = fields.flag("refunded") ?? false
        let total = fields.sum("amount_refunded") ?? .zero
        let taken = fields.sum("amount_captured") ?? (isCaptured == true ? amount ?? .zero : .zero)
        if taken > 0 {
            captured = taken
            mayCaptureMore = isCaptured == false && amount.map { taken < $0 } ?? false
            let account = RefundedSums(fields, captured: taken, mayCaptureMore: mayCaptureMore)
            // What an older version let go of is a refund as well, and has succeeded.
            refunded = max(.zero, refunds.givenBack(of: total) - (total - account.refunded))
            // Nothing of the charge says which of two sums is meant: whoever has read it may ask further.
            isRefundDoubtful = account.isDoubtful
        } else if isCaptured == true, amount == nil, fields.sum("amount_captured") == nil {
            hasUnknownSum = true
            refunded = refunds.givenBack(of: total)
            isGivenBack = isRefunded && refund == nil
        } else {
            // Until 2025-03-31.basil a hold that ended was refunded. Since then its charge shows nothing of that.
            isReleased = isRefunded || total > 0
            hasLapsed = fields.list("refunds").contains {
                $0.word("reason") == "expired_uncaptured_charge"
            }
        }
    }

    /// The same with the charge's disputes, as Stripe's list of them has them: all there are.
    package func disputed(by disputes: [RawJSON]) -> ChargeFacts {
        var facts = self
        facts.note(disputes.map { StripeFields($0) })
        return facts
    }

    /// The gravest of the disputes counts, and of the lost ones the sum.
    ///
    /// A dispute may be in another currency than its charge; then its sum is not known in the charge's.
    private mutating func note(_ disputes: [StripeFields]) {
        let found = disputes.compactMap { fields in
            fields.word("status").map { status in
                let unit = fields.word("currency")
                let isAlike = unit == nil || currency == nil || unit == currency
                return (DisputeState(status: status), isAlike ? fields.sum("amount") : nil)
            }
        }
        guard let first = found.first else { return }
        dispute = found.dropFirst().reduce(first.0) { $0.graver($1.0) }
        let sums = found.filter { $0.0 == dispute }.map(\.1)
        // Without a sum it is about all of the charge.
        disputed = sums.contains(nil) ? nil : sums.reduce(.zero) { $0 + ($1 ?? .zero) }
    }
}
