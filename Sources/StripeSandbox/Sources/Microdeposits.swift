/// Stripe's test values for micro-deposits: what the customer types decides what happens.
enum Microdeposits {
    /// What a try to verify leads to.
    enum Outcome {
        case verified, mismatch, attemptsExceeded, timedOut
    }

    /// Tries a customer has.
    static let attemptsMax = 5

    /// Judges the amounts in cents, in either order, or the six characters of a descriptor code.
    static func judge(_ values: [String]) -> Outcome {
        switch Set(values) {
        case ["32", "45"], ["SM11AA"]: .verified
        case ["10", "11"], ["SM33CC"]: .attemptsExceeded
        case ["40", "41"], ["SM44DD"]: .timedOut
        default: .mismatch
        }
    }

    static func failure(_ outcome: Outcome) -> PaymentFailure {
        switch outcome {
        case .timedOut:
            PaymentFailure(
                code: "payment_method_microdeposit_verification_timeout",
                message: "Microdeposit verification was not completed in time."
            )
        case .attemptsExceeded:
            PaymentFailure(
                code: "payment_method_microdeposit_verification_attempts_exceeded",
                message: "You have exceeded the number of allowed verification attempts."
            )
        case .mismatch, .verified:
            PaymentFailure(
                code: "payment_method_microdeposit_verification_amounts_mismatch",
                message: "The amounts provided do not match the amounts that were sent to the bank "
                    + "account."
            )
        }
    }
}
