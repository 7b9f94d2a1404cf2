/// The event types that concern payments, for a sweep or an endpoint.
///
/// *Limits*: `GET /v1/events` takes at most 20 names. *Source*: <https://docs.stripe.com/api/events/types>.
public enum EventTypes {
    /// How many names one list may ask for.
    public static let listMax = 20

    /// What happens to Sources; consumption shows in ``charges`` alone.
    public static let sources = [
        "source.chargeable", "source.failed", "source.canceled",
        "source.refund_attributes_required", "source.mandate_notification",
        "source.transaction.created", "source.transaction.updated",
    ]

    /// What happens to PaymentIntents; there is none for `requires_confirmation`.
    public static let paymentIntents = [
        "payment_intent.created", "payment_intent.requires_action", "payment_intent.processing",
        "payment_intent.amount_capturable_updated", "payment_intent.partially_funded",
        "payment_intent.succeeded", "payment_intent.payment_failed", "payment_intent.canceled",
    ]

    /// What happens to SetupIntents.
    public static let setupIntents = [
        "setup_intent.created", "setup_intent.requires_action", "setup_intent.succeeded",
        "setup_intent.setup_failed", "setup_intent.canceled",
    ]

    /// What happens to Charges, disputes aside.
    public static let charges = [
        "charge.pending", "charge.succeeded", "charge.failed", "charge.captured",
        "charge.expired", "charge.refunded", "charge.updated", "charge.refund.updated",
    ]
}
