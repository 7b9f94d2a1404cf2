package import JSONText
package import Poller
package import PollerIdentity
package import PollerPayments

/// Reads payments from Stripe objects.
package struct StripePayments: PaymentReader {
    private let expiry: SourceExpiry

    /// Creates a reader; `expiry` defines when Stripe expires a source.
    package init(expiry: SourceExpiry = .documented) {
        self.expiry = expiry
    }

    package func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts? {
        guard key.kind.isOfPayments else { return nil }
        var facts = PaymentFacts(
            key.kind,
            object: object,
            charge: charge,
            refunds: lists.refunds,
            seenAt: seenAt
        )
        facts.sourceLifetime = expiry.changed(facts.method)
        if let listed = lists.disputes?.member("data")?.elements {
            facts.charge = facts.charge?.disputed(by: listed)
        }
        return facts
    }
}
