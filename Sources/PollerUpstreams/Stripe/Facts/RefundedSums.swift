import Poller
import PollerWire

/// How much of a captured charge was given back, by whichever version of the API it was captured.
///
/// *Problem*: since version 2025-03-31.basil `amount_refunded` is what was given back of the captured money. Before, a
/// capture of less than the sum also refunded the rest, as an object of its own, and `amount_refunded` had both. The
/// version that counts is that of the request which captured, and not that of the one which reads.
/// *Approach*: most sums fit one of the two alone. `amount` 1000, `amount_captured` 600, so the old way has 400 more:
///
/// | `amount_refunded` | `refunded` | given back |
/// |---|---|---|
/// | less than 400 | false | the same, it is the new way |
/// | 600 | true | 600, all, the new way |
/// | 600 | false | 200, the old way: all would be `refunded` |
/// | more than 600 | either | 400 less, the old way |
/// | 400 to 599 | false | the new way, where no refund of exactly 400 is listed; else by the balance transaction |
///
/// The balance transaction of the capture has the sum that was captured, and had the whole sum before. Where nobody may
/// read it the charge is taken for one of the new way.
/// *Source*:
/// <https://docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow>,
/// <https://support.stripe.com/questions/changes-to-balance-transaction-behavior-for-partial-capture-and-payment-cancellation-flows>.
struct RefundedSums: Hashable, Sendable {
    let refunded: Amount
    /// Both ways fit, and the charge does not show which it is.
    let isDoubtful: Bool

    /// Reads them from a charge of which a sum was captured; more of its hold `mayCaptureMore`.
    init(_ fields: StripeFields, captured: Amount, mayCaptureMore: Bool) {
        let said = fields.sum("amount_refunded") ?? .zero
        // While more may be captured nothing was let go of.
        let released =
            mayCaptureMore ? .zero : max(.zero, (fields.sum("amount") ?? captured) - captured)
        let isAll = fields.flag("refunded")
        let isOld: Bool?
        if released == 0 || said < released {
            isOld = false
        } else if said > captured || said == captured && isAll == false {
            isOld = true
        } else if said == captured {
            isOld = false
        } else {
            isOld = Self.isOld(fields, captured: captured, released: released)
        }
        isDoubtful = isOld == nil
        refunded = isOld ?? false ? said - released : said
    }

    /// Whether a sum of the charge has become `settled` in the currency of the balance transaction, but for rounding.
    ///
    /// `exchange_rate` is of the two currencies, which may have different numbers of decimal places. *Source*:
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
        // The rate may be of the smallest units or of whole ones.
        var scaled = rate
        for _ in 0..<max(settledPlaces - places, 0) { scaled *= 10 }
        for _ in 0..<max(places - settledPlaces, 0) { scaled /= 10 }
        return [rate, scaled].contains { factor in
            let difference = Double(sum.minorUnits) * factor - Double(settled.minorUnits)
            return (-1.0...1.0).contains(difference)
        }
    }

    /// Whether the capture refunded the rest, by what stands beside the sums; nil when nothing says so.
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
