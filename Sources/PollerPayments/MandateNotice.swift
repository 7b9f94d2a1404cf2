import JSONText
package import PollerIdentity
package import PollerWire

/// An upstream's notice to pass on to the payer: a coming debit, or a confirmed mandate.
///
/// *Problem*: the payer must know of a debit beforehand. The creditor may have told the upstream (`manual`) that it
/// announces debits itself. The upstream sends an event when a notice is due, but no status or field of the source
/// shows it, so polls cannot find it.
/// *Approach*: the upstream's event is recorded once per ID as an event of the source's watch, even if the watch has
/// closed. The channels deliver it like any other. It is accepted only from a signed event, or from the upstream's
/// event list. *Source*: <https://docs.stripe.com/sources/sepa-debit>, notifying customers;
/// <https://docs.stripe.com/api/events/types>, `source.mandate_notification`.
package struct MandateNotice: Hashable, Sendable {
    /// The upstream's ID of the notice.
    package let id: String
    /// `debit_initiated` or `mandate_confirmed`.
    package var reason: String?
    /// The amount to be debited, in the smallest unit.
    package var amount: Amount?
    package var currency: String?
    /// The last digits of the account number.
    package var last4: String?
    package var reference: String?
    /// The creditor identifier of the debiting party.
    package var creditor: String?
    /// The time of the announcement.
    package var createdAt: Timestamp?

    /// Creates a notice with only an ID.
    package init(id: String) {
        self.id = id
    }

    /// Whether money will be debited; otherwise a mandate was confirmed.
    package var isDebit: Bool { reason != "mandate_confirmed" }

    /// Creates a notice from an event.
    package init(_ wire: PollerWire.MandateNotice) {
        id = wire.id
        reason = wire.reason
        amount = wire.amount.flatMap { Amount(nonNegative: $0) }
        currency = wire.currency
        last4 = wire.last4
        reference = wire.reference
        creditor = wire.creditor
        createdAt = wire.createdAt.map { Timestamp(ms: $0.ms) }
    }

    /// The wire form.
    package var wire: PollerWire.MandateNotice {
        var wire = PollerWire.MandateNotice()
        wire.id = id
        wire.reason = reason
        wire.amount = amount?.minorUnits
        wire.currency = currency
        wire.last4 = last4
        wire.reference = reference
        wire.creditor = creditor
        wire.createdAt = createdAt.map { Time(ms: $0.ms) }
        return wire
    }
}
