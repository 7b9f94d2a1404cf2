/// Why a payment failed, in Stripe's words.
struct PaymentFailure {
    let code: String
    var declineCode: String?
    let message: String

    static let cardDeclined = PaymentFailure(
        code: "card_declined",
        declineCode: "generic_decline",
        message: "Your card was declined."
    )
    static let bankDeclined = PaymentFailure(
        code: "payment_method_provider_decline",
        message: "The payment was declined by the bank."
    )
    static let debitRefused = PaymentFailure(
        code: "debit_not_authorized",
        message: "The customer has notified their bank that this payment was unauthorised."
    )
    static let insufficientFunds = PaymentFailure(
        code: "card_declined",
        declineCode: "insufficient_funds",
        message: "Your card has insufficient funds."
    )
    static let sourceLimit = PaymentFailure(
        code: "charge_exceeds_source_limit",
        message: "This payment would exceed your account's processing limit for this source type. "
            + "Retry later."
    )
}
