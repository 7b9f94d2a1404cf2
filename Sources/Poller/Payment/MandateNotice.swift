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
    /// The mandate's reference.
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

extension Event {
    /// Creates the event of a notice, which repeats the last reported state: nothing else of the watch changes.
    ///
    /// For a closed watch the event is a run of its own, which ends with the same reason.
    package init(announcing notice: MandateNotice, of snapshot: WatchSnapshot, at now: Timestamp) {
        let last = snapshot.lastEvent
        self.init(
            watch: snapshot.closed == nil ? snapshot.watch : snapshot.watch.inNextRun,
            of: .mandate(notice),
            status: snapshot.watch.state.status,
            final: snapshot.closed == .settled,
            closed: snapshot.closed,
            payment: snapshot.payment,
            nextStep: last?.nextStep ?? .none,
            isLive: last?.isLive,
            object: last.flatMap { RawJSON(unchecked: $0.json).member("object") },
            polledAt: now,
            lag: .zero
        )
    }
}

extension Watch {
    /// The watch in its next run, in which nothing is polled.
    fileprivate var inNextRun: Watch {
        Watch(
            key: key,
            policy: policy,
            createdAt: createdAt,
            deadline: deadline,
            run: run + 1,
            seq: seq,
            order: order,
            trace: trace,
            state: state
        )
    }
}

/// The mandate to debit the account of a source.
package struct Mandate: Hashable, Sendable {
    /// The reference, which the bank statement contains.
    package let reference: String?
    /// The URL of a page that shows the mandate; it contains the payment's secret.
    package let url: String?

    /// Reads the mandate from the last object of a watch; `nil` without one.
    ///
    /// The URL was recorded without the secret, which is inserted again if it is known.
    package init?(_ snapshot: WatchSnapshot) {
        guard snapshot.watch.key.kind == .source, let event = snapshot.lastEvent,
            let object = RawJSON(unchecked: event.json).member("object")
        else { return nil }
        // A charge contains its source.
        let source = object.member("source").flatMap { $0.kind == .object ? $0 : nil } ?? object
        guard let type = source.member("type")?.string, let details = source.member(type) else {
            return nil
        }
        reference = details.member("mandate_reference")?.string
        let url = details.member("mandate_url")?.string
        let secret = snapshot.watch.clientSecret?.reveal
        if let url, url.hasSuffix("/redacted") {
            self.url = secret.map { String(url.dropLast("redacted".count)) + $0 }
        } else {
            self.url = url
        }
        if reference == nil, self.url == nil { return nil }
    }
}
