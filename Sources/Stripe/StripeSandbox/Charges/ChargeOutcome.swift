/// The outcome of a charge in test mode, which depends on the payment data.
///
/// Owner names take precedence over card numbers, and those over IBANs, because a name can be given with every
/// method.
///
/// | payment data | outcome |
/// |---|---|
/// | card …0002, …9995, …0069, …0127, …0119 and similar | declined, with the code that Stripe documents |
/// | IBAN …3202, …3205, DE62…3001 | pending, then failed |
/// | IBAN …343434 | stays pending |
/// | IBAN …473203 | pending, succeeded, then returned: a dispute that is lost from the start |
/// | card …0259, …2685 | succeeds, then a dispute: fraudulent, product not received |
/// | card …1976 | succeeds, then an inquiry, which is a dispute without a withdrawal |
/// | card …5126, …7726 | succeeds; its refund fails later, or is pending at first |
/// | owner `failing_charge`, `pending_charge`, `charge_exceeds_source_limit` | the same for any source |
/// | owner `disputed_charge` | succeeds, then a dispute of the kind usual for the method |
///
/// *Source*: <https://docs.stripe.com/testing>, <https://docs.stripe.com/sources/sepa-debit>.
enum ChargeOutcome: Codable {
    case succeeds
    /// Fails immediately, with 402 and a failed charge.
    case declined(PaymentFailure)
    /// Is rejected with 400 without a charge; the same request may succeed later.
    case refused(PaymentFailure)
    /// Is pending for some time and then fails.
    case failsLater(PaymentFailure)
    /// Stays pending until a test settles it.
    case staysPending
    /// Succeeds and is disputed later; a `nil` reason means the default of the method.
    case isDisputed(reason: String?, isInquiry: Bool = false)

    /// Whether the charge waits for the bank, even for a method that settles immediately.
    var takesTime: Bool {
        switch self {
        case .failsLater, .staysPending: true
        case .succeeds, .declined, .refused, .isDisputed: false
        }
    }

    /// Creates the outcome of one of Stripe's test cards.
    init(cardNumber number: String) {
        switch number.suffix(4) {
        // 0341 can be attached but fails when charged.
        case "0002", "0341", "1629": self = .declined(.cardDeclined)
        case "9995", "3178": self = .declined(.insufficientFunds)
        case "0019": self = .decline("fraudulent", "Your card was declined.")
        case "9987": self = .decline("lost_card", "Your card was declined.")
        case "9979": self = .decline("stolen_card", "Your card was declined.")
        case "6975": self = .decline("card_velocity_exceeded", "Your card was declined.")
        case "0069":
            self = .declined(
                PaymentFailure(code: "expired_card", message: "Your card has expired.")
            )
        case "0127":
            self = .declined(
                PaymentFailure(
                    code: "incorrect_cvc",
                    message: "Your card's security code is incorrect."
                )
            )
        case "0119", "1280":
            self = .declined(
                PaymentFailure(
                    code: "processing_error",
                    message:
                        "An error occurred while processing your card. Try again in a little bit."
                )
            )
        case "0259": self = .isDisputed(reason: "fraudulent")
        case "2685": self = .isDisputed(reason: "product_not_received")
        case "1976": self = .isDisputed(reason: "fraudulent", isInquiry: true)
        default: self = .succeeds
        }
    }

    /// Creates the outcome of one of Stripe's test IBANs, by its last digits; any other IBAN succeeds.
    init(iban: String) {
        let plain = iban.filter { $0 != " " }
        if plain.hasPrefix("DE62"), plain.hasSuffix("3001") {
            self = .failsLater(.debitRefused)
        } else if plain.hasSuffix("00234573202") || plain.hasSuffix("00235473202")
            || plain.hasSuffix("00235473205")
        {
            self = .failsLater(.debitRefused)
        } else if plain.hasSuffix("00235473203") {
            self = .isDisputed(reason: nil)
        } else if plain.hasSuffix("0000343434") {
            self = .staysPending
        } else if plain.hasSuffix("0000121212") || plain.hasSuffix("0000121213") {
            self = .refused(.sourceLimit)
        } else if plain.hasSuffix("0000989898") {
            self = .failsLater(
                PaymentFailure(
                    code: "insufficient_funds",
                    message: "The customer's account has insufficient funds to cover this payment."
                )
            )
        } else {
            self = .succeeds
        }
    }

    /// Creates the outcome of a test-mode owner name; `nil` for other names.
    init?(ownerName name: String?) {
        switch name {
        case "succeeding_charge": self = .succeeds
        case "failing_charge": self = .failsLater(.bankDeclined)
        case "pending_charge": self = .staysPending
        case "disputed_charge": self = .isDisputed(reason: nil)
        case "charge_exceeds_source_limit": self = .refused(.sourceLimit)
        default: return nil
        }
    }

    private static func decline(_ code: String, _ message: String) -> ChargeOutcome {
        .declined(PaymentFailure(code: "card_declined", declineCode: code, message: message))
    }
}

/// The failure of a payment, with Stripe's codes and messages.
struct PaymentFailure: Codable {
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
    /// Strong Customer Authentication: the card can only be charged with 3D Secure.
    ///
    /// *Source*: <https://docs.stripe.com/declines/codes>.
    static let authenticationRequired = PaymentFailure(
        code: "authentication_required",
        declineCode: "authentication_required",
        message: "Your card was declined. This transaction requires authentication."
    )
    static let actionRequired = PaymentFailure(
        code: "card_declined",
        declineCode: "authentication_required",
        message: "Your card was declined. This transaction requires authentication."
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
