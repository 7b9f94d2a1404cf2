package import JSONText
package import Poller

/// What of an upstream's answer is the payment: where its word is and what that means, and where the sum.
///
/// The words of the answer are compared without case; one that is not mapped is `unknown`.
///
/// *Money*: where a sum is configured, `paid` and `partially_refunded` need one that was seen, or the
/// answer says `unknown`. That sum is remembered, and then no word without money takes it back, as with
/// any payment: only those that say that it went (``PaymentState/wasPaid``). Without a sum nothing is
/// remembered, and the answer's last word alone counts.
///
/// *Units*: a sum is a whole number, or a text of digits, in the currency's smallest unit. What is
/// written with a fraction is none: nobody can tell which unit it is in.
/// *Limits*: a number that is not positive, or beyond ``Amount/max``, is not known.
package struct HTTPPayment: Sendable {
    /// Where the currency is, or which one it always is.
    package enum Currency: Sendable {
        case at(JSONPointer)
        case always(String)
    }

    private let state: JSONPointer
    private let words: [String: PaymentState]
    private let amount: JSONPointer?
    private let currency: Currency?

    /// Describes a payment.
    ///
    /// - Parameters:
    ///   - state: where its word is.
    ///   - words: what the answer's words mean.
    ///   - amount: where the sum is.
    ///   - currency: of the sum.
    /// - Throws: ``InvalidInput`` naming the first part that is wrong.
    package init(
        state: JSONPointer,
        words: [String: String],
        amount: JSONPointer? = nil,
        currency: Currency? = nil
    ) throws(InvalidInput) {
        var known: [String: PaymentState] = [:]
        for (word, meaning) in words.sorted(by: { $0.key < $1.key }) {
            guard let state = PaymentState(rawValue: meaning) else {
                let names = PaymentState.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidInput(
                    field: "payment.state.map",
                    message: "says \(word) is \(meaning.prefix(64)), which is none of \(names)"
                )
            }
            guard known.updateValue(state, forKey: word.lowercased()) == nil else {
                throw InvalidInput(
                    field: "payment.state.map",
                    message: "names \(word.lowercased()) twice; case makes no difference"
                )
            }
        }
        guard !known.isEmpty else {
            throw InvalidInput(
                field: "payment.state.map",
                message: "must say what the words of the answer mean, as settled: paid"
            )
        }
        if case .always(let name) = currency, !Self.isCurrency(name) {
            throw InvalidInput(
                field: "payment.currency",
                message: "must be a JSON pointer such as /currency, or three letters such as eur"
            )
        }
        self.state = state
        self.words = known
        self.amount = amount
        self.currency = currency
    }

    /// What an answer says.
    ///
    /// Total: what is not there, or cannot be read, is not known.
    package func facts(in object: RawJSON, seenAt: Timestamp) -> PaymentFacts {
        let bytes = Array(object.description.utf8)
        func text(_ pointer: JSONPointer?) -> String? {
            // The answer was read as JSON to its end when its status was.
            pointer.flatMap { pointer in try? pointer.scalar(in: bytes) }
        }
        var facts = PaymentFacts(kind: .http)
        facts.seenAt = seenAt
        facts.amount = text(amount).flatMap { Amount(decimal: $0) }.flatMap { $0 > 0 ? $0 : nil }
        switch currency {
        case .at(let pointer)?:
            facts.currency = text(pointer)?.lowercased()
            if let name = facts.currency, !Self.isCurrency(name) { facts.currency = nil }
        case .always(let name)?: facts.currency = name.lowercased()
        case nil: break
        }
        let claim = text(state).flatMap { words[$0.lowercased()] } ?? .unknown
        let isUnseen = amount != nil && facts.amount == nil
        facts.claim = claim.isPaid && isUnseen ? .unknown : claim
        facts.charge = facts.amount.flatMap { money(claim, $0) }
        return facts
    }

    /// The evidence that a word and a sum make together; nil for a word without money.
    private func money(_ claim: PaymentState, _ amount: Amount) -> ChargeFacts? {
        guard claim.wasPaid else { return nil }
        var money = ChargeFacts(status: claim == .reversed ? .failed : .succeeded)
        money.amount = amount
        money.captured = amount
        money.refunded = claim == .refunded ? amount : .zero
        money.isReturned = claim == .reversed
        if claim == .disputed { money.dispute = .open }
        return money
    }

    private static func isCurrency(_ name: String) -> Bool {
        name.utf8.count == 3 && name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
    }
}
