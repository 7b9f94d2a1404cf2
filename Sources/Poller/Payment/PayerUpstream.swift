package import PollerIdentity

/// What a payer tells the upstream through us, on a page of ours or by a service that has asked them.
///
/// Never throws: whatever happens is one of the answers. No answer of the upstream is never taken for a
/// wrong code, nor for a right one.
package protocol PayerUpstream: Sendable {
    /// Hands in what a payer has read off their account or was sent.
    ///
    /// The same values handed in again are the same try: they use up none. Only for payments that ask for
    /// a code.
    func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult

    /// Says where money that came by a transfer goes back to.
    ///
    /// The same account handed in again changes nothing. `method` is how the payment is paid.
    func give(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult
}

/// A code that a payer was sent, or the amounts of two small deposits in the smallest unit.
package struct VerificationValues: Hashable, Sendable {
    /// What is told at once: a code, or two amounts.
    package static let countMax = 2
    /// Codes of banks have some six characters.
    package static let lengthMax = 32

    package let texts: [String]

    /// Checks values: one or two, of letters and digits.
    ///
    /// Errors: `InvalidInput` with what would be right.
    package init(_ texts: [String]) throws(InvalidInput) {
        guard (1...Self.countMax).contains(texts.count) else {
            throw InvalidInput(field: "values", message: "must be a code, or two amounts")
        }
        for text in texts {
            let isPlain = text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
            }
            guard isPlain, (1...Self.lengthMax).contains(text.utf8.count) else {
                throw InvalidInput(
                    field: "values",
                    message:
                        "must be 1 to \(Self.lengthMax) letters and digits each; amounts are in "
                        + "the smallest unit, such as 32"
                )
            }
        }
        self.texts = texts
    }
}

/// What came of a code that was handed in.
package enum VerificationResult: Hashable, Sendable {
    /// It is right, or was so before.
    case accepted
    /// It is wrong; how many tries are left, where the upstream says so.
    case refused(attemptsLeft: Int?)
    /// It is wrong, or another was, and no tries are left.
    case exhausted
    /// The upstream asks this payment for no code.
    case notAsked
    /// Nobody knows: the upstream gave no answer. The same values may be handed in again.
    case unknown(String)
}
