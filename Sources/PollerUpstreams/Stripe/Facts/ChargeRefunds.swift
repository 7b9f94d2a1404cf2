import PollerPayments

/// The refunds of a charge, as objects.
///
/// A charge's `amount_refunded` includes a refund as soon as it is created, even if no money has been sent. Only the
/// refund objects show which money has really been returned:
///
/// | `status` | counts as |
/// |---|---|
/// | `succeeded`; none, in objects of old API versions | returned money |
/// | `pending`, `requires_action` | an open refund |
/// | `failed`, `canceled` | nothing; reported if it is the newest refund and none is open, or if it had succeeded |
///
/// An older refund may fail weeks after it had succeeded. A refund does not show when it failed, but the returned
/// amount has become less (``ChargeFacts/following(_:)``).
///
/// If the list is missing or truncated, `amount_refunded` minus the known open refunds counts.
/// *Source*: <https://docs.stripe.com/refunds>, <https://docs.stripe.com/api/refunds/object>. `status` has had
/// `requires_action` since 2022. Since API version 2022-11-15 a charge contains `refunds` only if they are expanded.
struct ChargeRefunds {
    /// The state of the open refunds or of the last failed one; `nil` if every refund succeeded.
    let progress: RefundProgress?
    /// The newest refund that failed or was cancelled, although another one may be newer.
    let lastFailed: RefundProgress?
    /// Whether the list has every refund with a readable amount.
    let isComplete: Bool
    private let succeeded: Amount
    private let open: Amount
    /// The returned amount in the customer's own currency; `nil` if a refund does not show it.
    private let presented: Amount?

    /// Reads the refunds in a charge, or from `list`, Stripe's list of them, if it was read separately.
    init(of charge: StripeFields, list: StripeFields? = nil) {
        let refunds = list?.list("data") ?? charge.list("refunds")
        let isCut = (list ?? charge.object("refunds")).flag("has_more") ?? false
        isComplete =
            !refunds.isEmpty && !isCut && refunds.allSatisfy { $0.sum("amount") != nil }
        func sum(_ statuses: String?...) -> Amount {
            refunds.filter { statuses.contains($0.word("status")) }
                .reduce(.zero) { $0 + ($1.sum("amount") ?? .zero) }
        }
        succeeded = sum("succeeded", nil)
        let (pending, waiting) = (sum("pending"), sum("requires_action"))
        open = pending + waiting
        func created(_ refund: StripeFields) -> Int { refund.number("created") ?? 0 }
        func last(of refunds: [StripeFields]) -> RefundProgress? {
            // Lists are newest first. Of two refunds in the same second the first one is newer.
            let newest = refunds.enumerated().max { left, right in
                (created(left.element), -left.offset) < (created(right.element), -right.offset)
            }?.element
            let status = newest?.word("status").flatMap(RefundProgress.Status.init(rawValue:))
            return status.map { RefundProgress($0, newest?.sum("amount") ?? .zero) }
        }
        if waiting > 0 {
            progress = RefundProgress(.requiresAction, waiting)
        } else if pending > 0 {
            progress = RefundProgress(.pending, pending)
        } else {
            progress = last(of: refunds)
        }
        lastFailed = last(
            of: refunds.filter { ["failed", "canceled"].contains($0.word("status")) }
        )
        let sent = refunds.filter { ["succeeded", nil].contains($0.word("status")) }
        presented = sent.reduce(Amount.zero as Amount?) { sum, refund in
            guard let sum,
                let one = refund.object("presentment_details").sum("presentment_amount")
            else { return nil }
            return sum + one
        }
    }

    /// Returns the returned amount of a charge whose `amount_refunded` is `total`.
    func amountReturned(of total: Amount) -> Amount {
        isComplete ? min(total, succeeded) : max(.zero, total - open)
    }

    /// Returns the amount shown to the customer, with the part of it that was returned.
    ///
    /// `amountReturned` is the returned amount in the currency of the charge, and `amount` is the charge's amount.
    func presentment(
        _ fields: StripeFields,
        amountReturned: Amount,
        of amount: Amount?
    ) -> Presentment? {
        guard var shown = fields.presentment else { return nil }
        if amountReturned > 0 {
            shown.returned = amountReturned == amount ? shown.amount : isComplete ? presented : nil
        }
        return shown
    }
}

extension StripeFields {
    /// The amount shown to the customer in their own currency; `nil` if that is the object's currency.
    var presentment: Presentment? {
        let details = object("presentment_details")
        guard let amount = details.sum("presentment_amount"),
            let currency = details.word("presentment_currency"), currency != word("currency")
        else { return nil }
        return Presentment(amount: amount, currency: currency)
    }
}
