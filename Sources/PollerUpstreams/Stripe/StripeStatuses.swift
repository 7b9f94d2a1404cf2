import Poller

/// How near to its end each status of Stripe's objects is.
///
/// | kind | left pending | steady | final |
/// |---|---|---|---|
/// | source, single use | `chargeable` | – | `consumed`, `canceled`, `failed` |
/// | source, reusable | – | `chargeable`: charged again and again, it stays so | the same |
/// | payment_intent | `requires_capture` | – | `succeeded`, `canceled` |
/// | setup_intent | – | – | `succeeded`, `canceled` |
/// | charge | – | – | `succeeded`, `failed`: refunds and disputes do not change its status |
///
/// Every other status of a source but `pending` counts as having left it, whatever it will mean.
/// An intent's statuses are not monotone: `requires_payment_method` is both new and failed once
/// more, and the customer may try again. *Source*: FACTS §0.6, §2.1, §2.6.
enum StripeStatuses {
    /// The rank of a status; `usage` is a source's own.
    static func rank(_ status: SourceStatus, of kind: SourceKind, usage: String?) -> StatusRank {
        switch (kind, status.description) {
        case (.source, "pending"): .pending
        case (.source, "consumed"), (.source, "canceled"), (.source, "failed"): .final
        case (.source, "chargeable") where usage?.lowercased() == "reusable": .steady
        case (.source, _): .leftPending
        case (.paymentIntent, "requires_capture"): .leftPending
        case (.paymentIntent, "succeeded"), (.paymentIntent, "canceled"): .final
        case (.setupIntent, "succeeded"), (.setupIntent, "canceled"): .final
        case (.charge, "succeeded"), (.charge, "failed"): .final
        default: .pending
        }
    }
}
