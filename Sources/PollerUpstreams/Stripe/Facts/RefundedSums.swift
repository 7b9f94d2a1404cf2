import PollerPayments
import PollerWire

/// The amount of a captured charge that was refunded, for every API version.
///
/// *Problem*: since version 2025-03-31.basil `amount_refunded` is the refunded part of the captured amount. Before, a
/// partial capture also refunded the rest with a separate refund object, and `amount_refunded` included both. The
/// relevant version is that of the request that captured, not of the request that reads.
/// *Approach*: most amounts are possible in only one of the two versions. Example: `amount` is 1000 and
/// `amount_captured` is 600, so the old version adds 400:
///
/// | `amount_refunded` | `refunded` | refunded part |
/// |---|---|---|
/// | less than 400 | false | the same: new version |
/// | 600 | true | 600, everything: new version |
/// | 600 | false | 200: old version, because a full refund would set `refunded` |
/// | more than 600 | either | 400 less: old version |
/// | 400 to 599 | false | new version if no refund of exactly 400 is listed, else decided by the balance transaction |
///
/// The balance transaction of the capture has the captured amount in the new version and the full amount in the old
/// one. If it cannot be read, the new version is assumed.
/// *Source*:
/// <https://docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow>,
/// <https://support.stripe.com/questions/changes-to-balance-transaction-behavior-for-partial-capture-and-payment-cancellation-flows>.
struct RefundedSums: Hashable, Sendable {
    let refunded: Amount
    /// Whether both versions are possible and the charge does not show which one applies.
    let isDoubtful: Bool

    /// Reads the amounts of a captured charge; `mayCaptureMore` means that the authorisation is still open.
    init(_ fields: StripeFields, captured: Amount, mayCaptureMore: Bool) {
        let reportedSum = fields.sum("amount_refunded") ?? .zero
        // While more may be captured, nothing has been released.
        let released =
            mayCaptureMore ? .zero : max(.zero, (fields.sum("amount") ?? captured) - captured)
        let isAll = fields.flag("refunded")
        let isOld: Bool?
        if released == 0 || reportedSum < released {
            isOld = false
        } else if reportedSum > captured || reportedSum == captured && isAll == false {
            isOld = true
        } else if reportedSum == captured {
            isOld = false
        } else {
            isOld = Self.isOld(fields, captured: captured, released: released)
        }
        isDoubtful = isOld == nil
        refunded = isOld ?? false ? reportedSum - released : reportedSum
    }

    /// Whether `settled` is the amount `sum` in the currency of the balance transaction, except for rounding.
    ///
    /// `exchange_rate` relates the two currencies, which may have different numbers of decimal places. *Source*:
    /// <https://docs.stripe.com/api/balance_transactions/object#balance_transaction_object-exchange_rate>.
    private static func isAbout(
        _ sum: Amount,
        settledAs settled: Amount,
        _ line: StripeFields,
        _ fields: StripeFields
    ) -> Bool {
        let (from, to) = (fields.word("currency"), line.word("currency"))
        if from == to { return settled == sum }
        guard let rate = line.decimal("exchange_rate"), rate > 0 else { return false }
        let places = from.flatMap(CurrencyUnit.init)?.decimals ?? 2
        let settledPlaces = to.flatMap(CurrencyUnit.init)?.decimals ?? 2
        // The rate may refer to smallest units or to main units.
        var scaled = rate
        for _ in 0..<max(settledPlaces - places, 0) { scaled *= 10 }
        for _ in 0..<max(places - settledPlaces, 0) { scaled /= 10 }
        return [rate, scaled].contains { factor in
            let difference = Double(sum.minorUnits) * factor - Double(settled.minorUnits)
            return (-1.0...1.0).contains(difference)
        }
    }

    /// Whether the capture refunded the rest, according to the balance transaction and the listed refunds.
    ///
    /// Returns `nil` if neither shows it.
    private static func isOld(
        _ fields: StripeFields,
        captured: Amount,
        released: Amount
    ) -> Bool? {
        let line = fields.object("balance_transaction")
        if let amount = line.sum("amount") {
            if isAbout(captured, settledAs: amount, line, fields) { return false }
            if isAbout(captured + released, settledAs: amount, line, fields) { return true }
        }
        let refunds = fields.list("refunds")
        let isListed = refunds.contains { $0.sum("amount") == released }
        return refunds.isEmpty || isListed ? nil : false
    }
}
