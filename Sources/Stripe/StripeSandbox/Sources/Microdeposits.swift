/// Stripe's test values for micro-deposits: what the customer types decides what happens.
enum Microdeposits {
    /// What a try to verify leads to.
    private enum Outcome {
        case verified, mismatch, attemptsExceeded, timedOut
    }

    /// Why values were refused, and the tries that are left after them.
    struct Refusal {
        let failure: PaymentFailure
        let left: Int

        /// The answer to the request that brought them.
        func error(param: String? = nil) -> APIError {
            var error = APIError.invalid(failure.message, code: failure.code, param: param)
            // The attempt is spent: the same request sent again must not spend another.
            error.hasBegun = true
            return error
        }
    }

    /// Tries a customer has.
    static let attemptsMax = 5

    /// Judges values on which one of the tries `left` is spent; nil when they are right.
    static func refusal(of values: [String], left: Int) -> Refusal? {
        let outcome = judge(values)
        if outcome == .verified { return nil }
        let left = outcome == .mismatch ? left - 1 : 0
        let isLast = outcome == .mismatch && left == 0
        return Refusal(failure: failure(isLast ? .attemptsExceeded : outcome), left: left)
    }

    /// Judges the amounts in cents, in either order, or the six characters of a descriptor code.
    private static func judge(_ values: [String]) -> Outcome {
        switch Set(values) {
        case ["32", "45"], ["SM11AA"]: .verified
        case ["10", "11"], ["SM33CC"]: .attemptsExceeded
        case ["40", "41"], ["SM44DD"]: .timedOut
        default: .mismatch
        }
    }

    private static func failure(_ outcome: Outcome) -> PaymentFailure {
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
