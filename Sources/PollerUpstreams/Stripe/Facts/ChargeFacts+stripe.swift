package import JSONText
package import Poller

extension ChargeFacts {
    /// Reads one of Stripe's charges; nil when it is none.
    ///
    /// `amount_captured` is newer than the object: without it a charge that was captured has taken what
    /// was not to be left. A sum counts only once the charge has succeeded: a debit that is pending shows
    /// it as well. A charge that has succeeded and says that it is not paid contradicts itself, and is pending
    /// until it agrees. *Source*: <https://docs.stripe.com/api/charges/object>, <doc:StripeVersions>.
    package init?(charge json: RawJSON) {
        self.init(StripeFields(json))
    }

    init?(_ fields: StripeFields) {
        guard let id = fields.text("id"), let source = try? SourceID(id),
            let said = fields.word("status").flatMap(ChargeSeen.Status.init(rawValue:))
        else { return nil }
        let status = said == .succeeded && fields.flag("paid") == false ? .pending : said
        self.init(id: source, status: status)
        amount = fields.sum("amount")
        created = fields.time("created")
        if status == .succeeded { readMoney(fields) }
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
    private mutating func readMoney(_ fields: StripeFields) {
        let isCaptured = fields.flag("captured")
        let taken = fields.sum("amount_captured") ?? (isCaptured == true ? amount ?? .zero : .zero)
        guard taken > 0 else {
            // Until 2025-03-31.basil a hold that ended was refunded. Since then its charge shows nothing of that.
            let isRefunded = fields.flag("refunded") ?? false
            isReleased = isRefunded || (fields.sum("amount_refunded") ?? .zero) > 0
            hasLapsed = fields.list("refunds").contains {
                $0.word("reason") == "expired_uncaptured_charge"
            }
            return
        }
        captured = taken
        mayCaptureMore = isCaptured == false && amount.map { taken < $0 } ?? false
        let account = RefundedSums(fields, captured: taken, mayCaptureMore: mayCaptureMore)
        refunded = account.refunded
        // Nothing of the charge says which of two sums is meant: whoever has read it may ask further.
        isRefundDoubtful = account.isDoubtful
    }

    /// The same with the charge's disputes, as Stripe's list of them has them: all there are.
    package func disputed(by disputes: [RawJSON]) -> ChargeFacts {
        var facts = self
        facts.note(disputes.map { StripeFields($0) })
        return facts
    }

    /// The gravest of the disputes counts, and of the lost ones the sum.
    private mutating func note(_ disputes: [StripeFields]) {
        let found = disputes.compactMap { fields in
            fields.word("status").map { (DisputeState(status: $0), fields.sum("amount")) }
        }
        guard let first = found.first else { return }
        dispute = found.dropFirst().reduce(first.0) { $0.graver($1.0) }
        let sums = found.filter { $0.0 == dispute }.map(\.1)
        // Without a sum it is about all of the charge.
        disputed = sums.contains(nil) ? nil : sums.reduce(.zero) { $0 + ($1 ?? .zero) }
    }
}
