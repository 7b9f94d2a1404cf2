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
            name: order.idempotencyKey(of: watch.key, amount: sum.amount, currency: sum.currency),
            customer: source.customer,
            created: source.created
        ) { charge in
            charge.source?.id == id && charge.status != .failed
                && (isSingleUse || isOf(order, sum, charge))
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
        let key = order.idempotencyKey(of: watch.key, amount: sum.amount, currency: sum.currency)
        let id = source.id
        return ChargeSearch(
            name: "consumed:\(key)",
            customer: source.customer,
            created: source.created
        ) { $0.source?.id == id && isOf(order, sum, $0) }
    }

    /// Whether a charge of the same source is of this order: the same sum and the same metadata, and
    /// ours unless the metadata says what it was for.
    ///
    /// Charges of the first release carry the same mark, so an upgrade repeats none.
    private static func isOf(
        _ order: ChargeOrder,
        _ sum: ChargeOrder.Sum,
        _ charge: StripeAPI.Charge
    ) -> Bool {
        var metadata = charge.metadata ?? [:]
        let isOurs = metadata.removeValue(forKey: mark) != nil
        return charge.amount == sum.amount && charge.currency == sum.currency
            && metadata == order.metadata && (isOurs || !order.metadata.isEmpty)
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
