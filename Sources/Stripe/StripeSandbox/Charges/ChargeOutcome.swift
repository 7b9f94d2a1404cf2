/// What becomes of a charge in test mode, decided by what the customer gave.
enum ChargeOutcome {
    case succeeds
    /// Fails at once, with 402 and a failed charge.
    case declined(PaymentFailure)
    /// Is refused with 400 before there is a charge; the same request may work later.
    case refused(PaymentFailure)
    /// Is pending for a while and then fails.
    case failsLater(PaymentFailure)
    /// Is pending and stays so until a test settles it.
    case staysPending

    /// Stripe's test cards.
    init(cardNumber number: String) {
        switch number.suffix(4) {
        // 0341 can be stored, and fails when charged.
        case "0002", "0341": self = .declined(.cardDeclined)
        case "9995": self = .declined(.insufficientFunds)
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
        case "0119":
            self = .declined(
                PaymentFailure(
                    code: "processing_error",
                    message:
                        "An error occurred while processing your card. Try again in a little bit."
                )
            )
        default: self = .succeeds
        }
    }

    /// Stripe's test IBANs, by the digits that tell them apart; any other succeeds.
    init(iban: String) {
        let plain = iban.filter { $0 != " " }
        if plain.hasPrefix("DE62"), plain.hasSuffix("3001") {
            self = .failsLater(.debitRefused)
        } else if plain.hasSuffix("00234573202") || plain.hasSuffix("00235473202")
            || plain.hasSuffix("00235473205")
        {
            self = .failsLater(.debitRefused)
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

    /// Test-mode owner names; nil for ordinary people.
    init?(ownerName name: String?) {
        switch name {
        case "succeeding_charge": self = .succeeds
        case "failing_charge": self = .failsLater(.bankDeclined)
        case "pending_charge": self = .staysPending
        case "charge_exceeds_source_limit": self = .refused(.sourceLimit)
        default: return nil
        }
    }

    private static func decline(_ code: String, _ message: String) -> ChargeOutcome {
        .declined(PaymentFailure(code: "card_declined", declineCode: code, message: message))
    }
}
