package import JSONText
package import PollerIdentity
package import PollerPayments
import PollerWire

/// Locates the payment in an upstream's response: the state, its meaning, and the amount.
///
/// States are compared like statuses (``SourceStatus``), ignoring case. A state that is not mapped is `unknown`.
///
/// *Money*: if an amount is configured, `paid` and `partially_refunded` need an amount in the response. Without one
/// the state is `unknown`. An observed amount is remembered, as with any payment. From then on, a state without money
/// does not revoke it; only a state that implies an earlier payment does (``PaymentState/wasPaid``). If no amount is
/// configured, nothing is remembered, and only the last response counts.
///
/// *Units*: see ``AmountFormat``. The amount is reported in the smallest unit, as defined by ``CurrencyUnit``.
/// *Limits*: a number that is not positive, or that exceeds ``Amount/max``, counts as unknown.
package struct HTTPPayment: Sendable {
    /// The location of the currency in the response, or a fixed currency.
    package enum Currency: Sendable {
        case at(JSONPointer)
        case always(String)
    }

    /// The notation of an amount in the response.
    ///
    /// | format | `1099`, `1099.0`, `1.099e3` | `"10.99"` | `10.99` | `"10"` |
    /// |---|---|---|---|---|
    /// | `auto` | €10.99 | €10.99 | unknown | €0.10 |
    /// | `smallest_unit` | €10.99 | unknown | unknown | €0.10 |
    /// | `decimal` | €1,099.00 | €10.99 | €10.99 | €10.00 |
    ///
    /// *Source*: `"value": "10.00", "currency": "EUR"` of <https://docs.mollie.com/reference/common-data-types> and
    /// of <https://developer.paypal.com/docs/api/orders/v2/>, `amount.value`.
    package enum AmountFormat: String, Sendable, CaseIterable {
        /// A whole number of smallest units, or an unambiguous decimal string.
        ///
        /// A string with a point and exactly the currency's decimal places is read as a decimal number.
        case auto
        /// A whole number of smallest units, also as a string.
        case smallestUnit = "smallest_unit"
        /// A decimal number in the currency's main unit, as a string or a number, with or without decimal places.
        case decimal
    }

    /// The location of the payment state.
    let state: JSONPointer
    private let words: [SourceStatus: PaymentState]
    private let amount: JSONPointer?
    private let format: AmountFormat
    private let currency: Currency?

    /// Creates the description of a payment.
    ///
    /// - Parameters:
    ///   - state: the location of the payment state.
    ///   - words: the meaning of each state in the response.
    ///   - amount: the location of the amount.
    ///   - format: the notation of the amount; `decimal` needs a currency.
    ///   - currency: the currency of the amount.
    /// - Throws: ``InvalidInput`` that names the first invalid part.
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
                    "payment.state.map",
                    "says \(word) is \(meaning.prefix(64)), which is none of \(names)"
                )
            }
            let status: SourceStatus
            do throws(InvalidInput) {
                status = try SourceStatus(word)
            } catch {
                throw InvalidInput(
                    "payment.state.map",
                    "has a word that no response can match: it \(error.message)"
                )
            }
            guard known.updateValue(state, forKey: status) == nil else {
                throw InvalidInput(
                    "payment.state.map",
                    "names \(word.lowercased()) twice; case makes no difference"
                )
            }
        }
        guard !known.isEmpty else {
            throw InvalidInput(
                "payment.state.map",
                "must map the words of the response to payment states, such as settled: paid"
            )
        }
        if case .always(let name) = currency, !Self.isCurrency(name) {
            throw InvalidInput(
                "payment.currency",
                "must be a JSON pointer such as /currency, or three letters such as eur"
            )
        }
        guard format != .decimal || currency != nil else {
            throw InvalidInput(
                "payment.currency",
                "is required with amount_format: decimal, which depends on the currency"
            )
        }
        self.format = format
        self.state = state
        self.words = known
        self.amount = amount
        self.currency = currency
    }

    /// The mapped states, spelled as in the configuration.
    var known: Set<SourceStatus> { Set(words.keys) }

    /// Reads the payment from a response.
    ///
    /// Never fails: a missing or unreadable part is unknown.
    package func facts(in object: RawJSON, seenAt: Timestamp) -> PaymentFacts {
        let bytes = Array(object.description.utf8)
        func text(_ pointer: JSONPointer?) -> String? {
            // Parsing the status has already checked the whole response as JSON.
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

    /// Returns the text of an amount that could not be read.
    ///
    /// Returns `nil` if the amount was read, the response has none, or none is configured. The response must be JSON.
    func unreadableAmount(in bytes: [UInt8]) -> String? {
        guard let amount, let sum = try? amount.value(in: bytes) else { return nil }
        let name: String? =
            switch currency {
            case .at(let pointer)?: (try? pointer.scalar(in: bytes)).flatMap { $0?.lowercased() }
            case .always(let name)?: name.lowercased()
            case nil: nil
            }
        return read(sum, in: name) == nil ? sum.text : nil
    }

    /// Returns an amount in the smallest unit, or `nil` if the format does not allow its notation.
    private func read(_ sum: JSONPointer.Scalar, in currency: String?) -> Int? {
        let unit = currency.flatMap(CurrencyUnit.init)
        // JSON allows several notations of one number: 1099, 1099.0 and 1.099e3 are equal.
        guard let text = sum.isString ? sum.text : JSONNumber.plain(sum.text) else { return nil }
        if format == .decimal { return unit?.minorUnits(decimal: text) }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return Amount(decimal: text)?.minorUnits }
        guard format == .auto, sum.isString, let unit, parts[1].utf8.count == unit.decimals else {
            return nil
        }
        return unit.minorUnits(decimal: text)
    }

    /// Returns the charge implied by a state and an amount, or `nil` for a state without money.
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
