import Poller

/// The refunds of a charge, as objects.
///
/// A charge's `amount_refunded` counts a refund from the moment it is created, whether its money was sent or
/// not. What has really gone back only the refunds themselves say:
///
/// | `status` | counts |
/// |---|---|
/// | `succeeded`; none, in objects of old API versions | as given back |
/// | `pending`, `requires_action` | as a refund that is open |
/// | `failed`, `canceled` | not; reported if it is the newest refund and none is open |
///
/// Where the list is missing or cut, `amount_refunded` counts, without the refunds that are known to be open.
/// *Source*: <https://docs.stripe.com/refunds>, <https://docs.stripe.com/api/refunds/object>. `status` knows
/// `requires_action` since 2022; a charge has its `refunds` only when they are expanded, since API version
/// 2022-11-15.
struct ChargeRefunds {
    /// What is on its way, waits for the customer, or came to nothing last; nil when every refund succeeded.
    let progress: RefundProgress?
    /// Whether the list has every refund, with a sum that can be read.
    let isComplete: Bool
    private let succeeded: Amount
    private let open: Amount
    /// What has gone back in the customer's own currency; nil when a refund does not say.
    private let presented: Amount?

    /// Reads the refunds that a charge has in it; `list` is Stripe's list of them where it was read by itself.
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
        // Lists are newest first; of two in the same second the first is the newer.
        let newest = refunds.enumerated().max { left, right in
            (created(left.element), -left.offset) < (created(right.element), -right.offset)
        }?.element
        if waiting > 0 {
            progress = RefundProgress(.requiresAction, waiting)
        } else if pending > 0 {
            progress = RefundProgress(.pending, pending)
        } else {
            progress = newest.flatMap { refund in
                let status = refund.word("status").flatMap(RefundProgress.Status.init(rawValue:))
                return status.map { RefundProgress($0, refund.sum("amount") ?? .zero) }
            }
        }
        let sent = refunds.filter { ["succeeded", nil].contains($0.word("status")) }
        presented = sent.reduce(Amount.zero as Amount?) { sum, refund in
            guard let sum,
                let one = refund.object("presentment_details").sum("presentment_amount")
            else { return nil }
            return sum + one
        }
    }

    /// What has gone back of a charge whose `amount_refunded` is `total`.
    func givenBack(of total: Amount) -> Amount {
        isComplete ? min(total, succeeded) : max(.zero, total - open)
    }

    /// What the customer was shown, with what has gone back of it.
    ///
    /// `givenBack` is what has gone back in the currency of the charge, whose sum is `amount`.
    func presentment(
        _ fields: StripeFields,
        givenBack: Amount,
        of amount: Amount?
    ) -> Presentment? {
        guard var shown = fields.presentment else { return nil }
        if givenBack > 0 {
            shown.returned = givenBack == amount ? shown.amount : isComplete ? presented : nil
        }
        return shown
    }
}

extension StripeFields {
    /// What the customer was shown in their own currency; nil when that is the object's.
    var presentment: Presentment? {
        let details = object("presentment_details")
        guard let amount = details.sum("presentment_amount"),
            let currency = details.word("presentment_currency"), currency != word("currency")
        else { return nil }
        return Presentment(amount: amount, currency: currency)
    }
}
