import JSONText
package import PollerIdentity
package import PollerWire

/// That a debit is coming, of which the payer has to be told before.
///
/// *Problem*: the holder of a mandate may have told the upstream to leave that to it (`manual`). The
/// upstream says when, in an event of its own; no status and no field of the source shows it, so no poll
/// can see it. *Approach*: what the upstream's event says is recorded as an event of the source's watch,
/// by its own id once, also when the watch has ended; the channels tell it like any other. It is taken
/// from an event that was signed, or that the upstream has listed for us.
/// *Source*: <https://docs.stripe.com/sources/sepa-debit>, notifying customers;
/// <https://docs.stripe.com/api/events/types>, `source.mandate_notification`.
package struct MandateNotice: Hashable, Sendable {
    /// The upstream's id of it.
    package let id: String
    /// `debit_initiated` or `mandate_confirmed`.
    package var reason: String?
    /// What will be debited, in the smallest unit.
    package var amount: Amount?
    package var currency: String?
    /// The end of the account's number.
    package var last4: String?
    /// The mandate's reference.
    package var reference: String?
    /// Who debits, by the creditor's identifier.
    package var creditor: String?
    /// When it was announced.
    package var createdAt: Timestamp?

    /// Describes one of which nothing else is known yet.
    package init(id: String) {
        self.id = id
    }

    /// Whether money will be taken; else somebody has just been allowed to.
    package var isDebit: Bool { reason != "mandate_confirmed" }

    /// Reads it back from an event.
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

    /// The notice on the wire.
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
    /// What is recorded of a notice: nothing else of the watch changes, and the rest of the event says
    /// what was told of it last.
    ///
    /// Of a watch that has ended it is a run of its own, which ends as that had ended.
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
    /// The same watch in its next run, in which nothing is polled.
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

/// What allows somebody to debit the account of a source.
package struct Mandate: Hashable, Sendable {
    /// Its reference, which the bank's statement names.
    package let reference: String?
    /// A page that shows it; it carries the payment's own secret.
    package let url: String?

    /// The mandate of a watch, as far as its last object says; nil for one that has none.
    ///
    /// The page's address was recorded without the secret, which is put back where it is known.
    package init?(_ snapshot: WatchSnapshot) {
        guard snapshot.watch.key.kind == .source, let event = snapshot.lastEvent,
            let object = RawJSON(unchecked: event.json).member("object")
        else { return nil }
        // A charge shows its source.
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
