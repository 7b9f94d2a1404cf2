package import JSONText
package import Poller
package import PollerIdentity
import PollerWire

/// What of an upstream's answer is the payment: where its word is and what that means, and where the sum.
///
/// The words of the answer are compared as statuses are (``SourceStatus``), without case; one that is not mapped is
/// `unknown`.
///
/// *Money*: where a sum is configured, `paid` and `partially_refunded` need one that was seen, or the
/// answer says `unknown`. That sum is remembered, and then no word without money takes it back, as with
/// any payment: only those that say that it went (``PaymentState/wasPaid``). Without a sum nothing is
/// remembered, and the answer's last word alone counts.
///
/// *Units*: see ``AmountFormat``; the sum is reported in the smallest unit, as ``CurrencyUnit`` counts it.
/// *Limits*: a number that is not positive, or beyond ``Amount/max``, is not known.
package struct HTTPPayment: Sendable {
    /// Where the currency is, or which one it always is.
    package enum Currency: Sendable {
        case at(JSONPointer)
        case always(String)
    }

    /// How an answer writes a sum.
    ///
    /// | format | `1099`, `1099.0`, `1.099e3` | `"10.99"` | `10.99` | `"10"` |
    /// |---|---|---|---|---|
    /// | `auto` | €10.99 | €10.99 | not known | €0.10 |
    /// | `smallest_unit` | €10.99 | not known | not known | €0.10 |
    /// | `decimal` | €1,099.00 | €10.99 | €10.99 | €10.00 |
    ///
    /// *Source*: `"value": "10.00", "currency": "EUR"` of <https://docs.mollie.com/reference/common-data-types>
    /// and of <https://developer.paypal.com/docs/api/orders/v2/>, `amount.value`.
    package enum AmountFormat: String, Sendable, CaseIterable {
        /// A whole number counts smallest units. A string with a point and exactly the currency's decimal places
        /// is a decimal number: it cannot be anything else.
        case auto
        /// A whole number of smallest units, also as a string.
        case smallestUnit = "smallest_unit"
        /// A decimal number of the currency, as a string or a number, with or without decimal places.
        case decimal
    }

    /// Where its word is.
    let state: JSONPointer
    private let words: [SourceStatus: PaymentState]
    private let amount: JSONPointer?
    private let format: AmountFormat
    private let currency: Currency?

    /// Describes a payment.
    ///
    /// - Parameters:
    ///   - state: where its word is.
    ///   - words: what the answer's words mean.
    ///   - amount: where the sum is.
    ///   - format: how the sum is written; `decimal` needs a currency.
    ///   - currency: of the sum.
    /// - Throws: ``InvalidInput`` naming the first part that is wrong.
    package init(
        state: JSONPointer,
        words: [String: String],
        amount: JSONPointer? = nil,
        format: AmountFormat = .auto,
        currency: Currency? = nil
    ) throws(InvalidInput) {
        var known: [SourceStatus: PaymentState] = [:]
        for (word, meaning) in words.sorted(by: { $0.key < $1.key }) {
            guard let state = PaymentState(rawValue: meaning) else {
                let names = PaymentState.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidInput(
                    field: "payment.state.map",
                    message: "says \(word) is \(meaning.prefix(64)), which is none of \(names)"
                )
            }
            let status: SourceStatus
            do throws(InvalidInput) {
                status = try SourceStatus(word)
            } catch {
                throw InvalidInput(
                    field: "payment.state.map",
                    message: "has a word that no answer can match: it \(error.message)"
                )
            }
            guard known.updateValue(state, forKey: status) == nil else {
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
        guard format != .decimal || currency != nil else {
            throw InvalidInput(
                field: "payment.currency",
                message: "is needed with amount_format: decimal, which counts by the currency"
            )
        }
        self.format = format
        self.state = state
        self.words = known
        self.amount = amount
        self.currency = currency
    }

    /// The words of the answer that are known, as they are configured.
    var known: Set<SourceStatus> { Set(words.keys) }

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
        switch currency {
        case .at(let pointer)?:
            facts.currency = text(pointer)?.lowercased()
            if let name = facts.currency, !Self.isCurrency(name) { facts.currency = nil }
        case .always(let name)?: facts.currency = name.lowercased()
        case nil: break
        }
        let sum = amount.flatMap { pointer in try? pointer.value(in: bytes) }
        facts.amount = sum.flatMap { read($0, in: facts.currency) }.flatMap { Amount(positive: $0) }
        let word = text(state).flatMap { try? SourceStatus($0) }
        let claim = word.flatMap { words[$0] } ?? .unknown
        let isUnseen = amount != nil && facts.amount == nil
        facts.claim = claim.isPaid && isUnseen ? .unknown : claim
        facts.charge = facts.amount.flatMap { money(claim, $0) }
        return facts
    }

    /// The amount of an answer, which is JSON, as it is written there, where it is not understood; nil when it is, when
    /// there is none, and when none was configured.
    func unreadAmount(in bytes: [UInt8]) -> String? {
        guard let amount, let sum = try? amount.value(in: bytes) else { return nil }
        let name: String? =
            switch currency {
            case .at(let pointer)?: (try? pointer.scalar(in: bytes)).flatMap { $0?.lowercased() }
            case .always(let name)?: name.lowercased()
            case nil: nil
            }
        return read(sum, in: name) == nil ? sum.text : nil
    }

    /// A sum in the smallest unit; nil for what the format does not allow.
    private func read(_ sum: JSONPointer.Scalar, in currency: String?) -> Int? {
        let unit = currency.flatMap(CurrencyUnit.init)
        // A number may be written in several ways: 1099, 1099.0 and 1.099e3 are one.
        guard let text = sum.isString ? sum.text : JSONNumber.plain(sum.text) else { return nil }
        if format == .decimal { return unit?.minorUnits(decimal: text) }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return Amount(decimal: text)?.minorUnits }
        guard format == .auto, sum.isString, let unit, parts[1].utf8.count == unit.decimals else {
            return nil
        }
        return unit.minorUnits(decimal: text)
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
        CurrencyUnit(name) != nil
    }
}
