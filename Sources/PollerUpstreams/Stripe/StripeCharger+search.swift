import Poller
import PollerIdentity
import StripeAPI

/// Which charges are ours, and of this order.
extension StripeCharger {
    /// A search for a charge of this order that was not refused.
    ///
    /// Of a single-use source any is: there can be no other.
    static func search(
        _ source: StripeAPI.Source,
        _ watch: Watch,
        _ order: ChargeOrder,
        _ sum: ChargeOrder.Sum
    ) -> ChargeSearch {
        let isSingleUse = source.usage == .singleUse
        let id = source.id
        return ChargeSearch(
            name: name(watch, order, sum),
            customer: source.customer,
            created: source.created
        ) { charge in
            charge.source?.id == id && charge.status != .failed
                && (isSingleUse || isOf(watch, order, sum, charge))
        }
    }

    /// How far Stripe's clock may be behind that of the store, as a negative span.
    private static let clockTolerance = Duration.seconds(-60)

    /// A search for the charge that a source was paid by, whoever has made it.
    ///
    /// | source | its payment is |
    /// |---|---|
    /// | single use | its one charge |
    /// | reusable, of no customer | its one charge, which has consumed it |
    /// | reusable, of a customer | the charge that names the order of the watch; else one that was made since the watch began, over its sum where that is known |
    ///
    /// A charge that names another order is never it. The charge may have failed since. A source of a customer is
    /// charged again and again, and its older charges were of other orders; it is consumed by being detached as well,
    /// and shows no customer any more then: its charges do.
    /// *Source*: <https://docs.stripe.com/sources/customers>.
    static func payment(of source: StripeAPI.Source, _ watch: Watch) -> ChargeSearch {
        let id = source.id
        let began = watch.isOnlyLooking ? watch.state.lastPolledAt : nil
        let since = (began ?? watch.createdAt) + clockTolerance
        let isNamed = watch.order != nil || watch.charge != nil
        let isKept = source.usage != .singleUse && source.customer != nil
        let earliest = isKept && !isNamed ? Int(clamping: since.ms / 1000) : source.created
        return ChargeSearch(
            name: "paid:\(watch.key.account):\(id):\(watch.run)"
                + (watch.order.map { ":\($0)" } ?? ""),
            customer: source.customer,
            created: earliest
        ) { charge in
            guard charge.source?.id == id || charge.paymentMethod == id else { return false }
            if source.usage == .singleUse { return true }
            if let order = watch.order, let named = charge.metadata?[purpose] {
                return named == "\(order)"
            }
            if source.customer == nil, charge.customer == nil { return true }
            if let order = watch.charge, let sum = order.sum(of: source),
                isOf(watch, order, sum, charge)
            {
                return true
            }
            let amount = watch.charge?.amount?.minorUnits ?? source.amount
            return Int64(clamping: charge.created ?? 0) >= since.ms / 1000
                && (amount == nil || charge.amount == amount)
        }
    }

    /// What a search is for: two orders of the same content have places of their own in the list.
    private static func name(
        _ watch: Watch,
        _ order: ChargeOrder,
        _ sum: ChargeOrder.Sum
    ) -> String {
        let key = watch.key
        let content = order.idempotencyKey(of: key, amount: sum.amount, currency: sum.currency)
        return content + (watch.order.map { ":\($0)" } ?? "")
    }

    /// Whether a charge of the same source is of this order: the same sum and the same metadata, and
    /// ours unless the metadata says what it was for.
    ///
    /// A charge that names an order is of no other one, and one of the same sum that names this one is of it,
    /// whoever has made it.
    private static func isOf(
        _ watch: Watch,
        _ order: ChargeOrder,
        _ sum: ChargeOrder.Sum,
        _ charge: StripeAPI.Charge
    ) -> Bool {
        var metadata = charge.metadata ?? [:]
        var wanted = order.metadata
        let isOurs = metadata.removeValue(forKey: mark) != nil
        // A shop may have said the same by itself.
        let said = wanted.removeValue(forKey: purpose)
        let name = watch.order?.description ?? said
        let named = metadata.removeValue(forKey: purpose)
        // Whoever names no order may have left it out: money is rather not taken than taken twice.
        if let named, let name, named != name { return false }
        let isNamed = named != nil && named == name
        if isNamed, charge.amount == sum.amount.minorUnits, charge.currency == sum.currency {
            return true
        }
        return charge.amount == sum.amount.minorUnits && charge.currency == sum.currency
            && metadata == wanted && (isOurs || !order.metadata.isEmpty)
    }
}

extension ChargeSearch {
    /// The charge, if it is found; where the end was not seen nothing is known.
    func found(
        _ client: StripeClient,
        until end: Duration,
        _ elapsed: @Sendable () -> Duration,
        _ marks: ChargeSearchMarks
    ) async -> ChargeResult? {
        guard case .found(let charge) = await run(client, until: end, elapsed, marks) else {
            return nil
        }
        return StripeCharger.made(charge)
    }
}
