import Poller
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

    /// A search for what consumed a source; nil when nothing of this order can have.
    ///
    /// What has consumed a source may have failed since. A single-use source was consumed by its charge; a
    /// reusable one is consumed by being detached as well, and its older charges were of other orders.
    static func consumption(of source: StripeAPI.Source, _ watch: Watch) -> ChargeSearch? {
        if source.usage == .singleUse {
            let id = source.id
            return ChargeSearch(
                name: "consumed:\(watch.key.account):\(id)",
                customer: source.customer,
                created: source.created
            ) { $0.source?.id == id }
        }
        guard let order = watch.charge, let sum = order.sum(of: source) else { return nil }
        let id = source.id
        return ChargeSearch(
            name: "consumed:\(name(watch, order, sum))",
            customer: source.customer,
            created: source.created
        ) { $0.source?.id == id && isOf(watch, order, sum, $0) }
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
    /// A charge that names an order is of no other one.
    /// Charges of older releases carry the same mark and name no order, so an upgrade repeats none.
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
