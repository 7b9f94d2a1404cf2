import Poller

/// Which statuses of Stripe's objects cannot change any more.
///
/// *Final* and *left pending* are two things. A chargeable single-use source has left pending and
/// goes on to `consumed` or `canceled`; a reusable one stays chargeable for good, which is its
/// settled state. An intent's statuses are not monotone: `requires_payment_method` is both new and
/// failed once more, so only `succeeded` and `canceled` end it.
/// *Source*: FACTS §2.1, §2.6.
enum StripeStatuses {
    /// Whether an object with this status has come to its end.
    static func isFinal(_ status: SourceStatus, of kind: SourceKind, usage: String?) -> Bool {
        switch (kind, status.description) {
        case (.source, "consumed"), (.source, "canceled"), (.source, "failed"): true
        case (.source, "chargeable"): usage?.lowercased() == "reusable"
        case (.paymentIntent, "succeeded"), (.paymentIntent, "canceled"): true
        case (.setupIntent, "succeeded"), (.setupIntent, "canceled"): true
        // Refunds and disputes of a charge do not change its status.
        case (.charge, "succeeded"), (.charge, "failed"): true
        default: false
        }
    }
}
