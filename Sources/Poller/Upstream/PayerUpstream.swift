package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// Submits a payer's input to the upstream, from the payment page or from a service that collected it.
///
/// It never throws: every failure is a result. A missing answer counts neither as a wrong code nor as a right one.
package protocol PayerUpstream: Sendable {
    /// Submits values that the payer read from their account or received.
    ///
    /// The same values submitted again are the same attempt and do not reduce the attempts left. It applies only to
    /// payments that require a code.
    func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult

    /// Submits the account for the refund of a bank transfer.
    ///
    /// The same account submitted again changes nothing. `method` is the method of the payment.
    func submit(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult
}

/// A code that a payer received, or the amounts of two small deposits in the smallest unit.
package struct VerificationValues: Hashable, Sendable {
    /// The maximum number of values: a code, or two amounts.
    package static let countMax = 2
    /// The maximum length.
    ///
    /// Codes of banks have about six characters.
    package static let lengthMax = 32

    package let texts: [String]

    /// Checks values: one or two, of letters and digits.
    ///
    /// Errors: `InvalidInput` with the expected form.
    package init(_ texts: [String]) throws(InvalidInput) {
        guard (1...Self.countMax).contains(texts.count) else {
            throw InvalidInput("values", "must be a code, or two amounts")
        }
        for text in texts {
            let isPlain = text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
            }
            guard isPlain, (1...Self.lengthMax).contains(text.utf8.count) else {
                throw InvalidInput(
                    "values",
                    "must be 1 to \(Self.lengthMax) letters and digits each; amounts are in "
                        + "the smallest unit, such as 32"
                )
            }
        }
        self.texts = texts
    }
}

/// The result of a submitted code.
package enum VerificationResult: Hashable, Sendable {
    /// It is right, now or in an earlier attempt.
    case accepted
    /// It is wrong; the value is the number of attempts left, if the upstream returns it.
    case refused(attemptsLeft: Int?)
    /// It or an earlier one is wrong, and no attempts are left.
    case exhausted
    /// The payment does not require a code.
    case notRequired
    /// Unknown: the upstream did not answer.
    ///
    /// The same values may be submitted again.
    case unknown(String)
}
