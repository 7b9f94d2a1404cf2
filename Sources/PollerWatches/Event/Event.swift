import JSONText
package import PollerIdentity
package import PollerOperations
package import PollerPayments
package import PollerWire
import SafeNumbers

/// A recorded change of one source, which every channel delivers.
///
/// *Shape* (one line of UTF-8 JSON; these bytes are stored, published, signed and sent, never re-serialised):
/// ```
/// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","kind":"source",
///  "order":"A77","seq":2,"run":1,"previous_status":"pending","status":"chargeable","final":false,
///  "closed_reason":null,"payment":{…},"next_step":{…},"livemode":true,"object":{…},
///  "observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3},"metadata":{…}}
/// ```
/// `type` is one of:
/// - `<kind>.<status>`.
/// - `charge.<outcome>` when the source was charged, with the charge as `object` and the source's status repeated.
/// - `payment.<state>` when the payment changed, and `next_step.changed` when the customer's next step changed
///   (``EventSubject``).
/// - `mandate.notification` before a debit, with its data in `mandate`.
/// - `watch.<closed reason>` when the watch ended without a final status. Then `final` is false and `status` repeats
///   the last observed one (or null).
/// - `order.<state>` or `order.paid_twice` for an order (``Order``). `kind` is `order`, `source` and `order` are its
///   name, `status` is its state, and `object` is the order with all attempts to pay it.
/// - `operator.<kind>` for operators of the cluster, of kind `incident` and an account without keys, with the incident
///   as `object`.
///
/// Every event contains `order`, `payment`, `next_step` and `livemode` if they are known, and the `metadata` of the
/// enqueue request. `object` is the upstream's object without any `client_secret` and without the account for refunds;
/// null when it is larger than ``objectBytesMax``. `previous_status` is the last reported one. It equals `status` when
/// the status stayed and another fact changed: a declined attempt, received money, another next step
/// (`Observation.detail`). `previous_amount_returned` is the payment's `amount_returned` before an event
/// `payment.<state>`, if it was not zero: only more is a new refund. Once a source was charged, its events also contain
/// `"charge":{"state":"pending","id":"ch_…"}` after `closed_reason`: the progress of the charge. The object is recorded
/// without white space outside strings (`RawJSON.compacted`), so the upstream cannot inject a line into any channel,
/// list or archive that separates events by line ends.
///
/// The changes of one poll are recorded together, as up to three events: of the payment, of the next step, and of the
/// status. The last of them contains the object and the close reason; the others repeat the previously reported status.
/// The end of all steps is reported only by the payment's event, if there is one.
package struct Event: Hashable, Sendable {
    /// The size limit of an object in bytes; a larger one is left out, because Redis stores it with every change.
    package static let objectBytesMax = 65_536

    package let id: EventID
    package let type: String
    package let key: WatchKey
    /// The order of the watch; `nil` if none was given.
    package let order: OrderID?
    package let seq: Int
    package let run: Int
    package let previousStatus: SourceStatus?
    package let status: SourceStatus?
    /// Whether the status cannot change any more, so that the payment is complete.
    package let final: Bool
    /// The close reason if the watch ended with this event; `nil` while it continues.
    ///
    /// `settled` for a final status, `reached` for another status that met the goal, any other reason when polling was
    /// stopped. No further event of this run follows.
    package let closed: ClosedReason?
    /// The progress of the source's charge as of this event.
    package let progress: PollerPayments.ChargeProgress
    /// The payment; `nil` if it is unknown.
    package let payment: PollerPayments.Payment?
    /// The returned amount before an event of the payment; zero in other events, and if it is unknown.
    package let previousReturned: Amount
    /// The customer's next step, without links that contain a secret.
    package let nextStep: PollerPayments.NextStep
    /// The announced debit; `nil` in other events.
    package let mandate: PollerPayments.MandateNotice?
    /// Whether it is a live payment; `nil` if the upstream does not say.
    package let isLive: Bool?
    /// The time of the poll; for a cancellation, the time of the request.
    package let polledAt: Timestamp
    /// The metadata of the enqueue request, a JSON object; empty without any.
    package let metadata: String
    /// The trace and the causing span; `nil` without tracing.
    package let trace: TraceContext?
    /// The complete event in its wire form.
    package let json: String
    /// The earlier events that this one replaced at one endpoint; not part of the record.
    package var skippedSeqs: [Int] = []
    /// Whether it was restored from an archive (``ArchivedWatch``), so that it is not delivered.
    package var isRestored = false

    /// Parses the bytes of an event.
    ///
    /// - Returns: `nil` when the text is not an event of this system.
    package init?(json: String) {
        self.init(json, Array(json.utf8))
    }

    /// Parses the bytes of an event, as ``init(json:)`` parses their text.
    package init?(utf8: [UInt8]) {
        guard let json = String(validating: utf8, as: UTF8.self) else {
            self.init(json: String(decoding: utf8, as: UTF8.self))
            return
        }
        self.init(json, utf8)
    }

    /// Parses an event; `json` and `bytes` are the same text.
    private init?(_ json: String, _ bytes: [UInt8]) {
        guard let wire = PollerWire.Event.recorded(bytes) else { return nil }
        // Counts beyond the exact range of JSON belong to no watch.
        guard let count = Int(safe: wire.seq), let runs = Int(safe: wire.run), count >= 0, runs >= 0
        else { return nil }
        id = EventID(unchecked: wire.id)
        type = wire.type
        key = WatchKey(
            account: AccountID(unchecked: wire.account),
            source: SourceID(unchecked: wire.source),
            kind: SourceKind(recorded: wire.kind.rawValue)
        )
        order = wire.order.map(OrderID.init(unchecked:))
        seq = count
        run = runs
        previousStatus = wire.previousStatus.map(SourceStatus.init(unchecked:))
        status = wire.status.map(SourceStatus.init(unchecked:))
        final = wire.isFinal
        closed = wire.closedReason.flatMap { ClosedReason(rawValue: $0.rawValue) }
        progress = ChargeProgress(
            name: wire.charge?.state.rawValue ?? "none",
            charge: wire.charge?.id.map(ChargeID.init(unchecked:))
        )
        payment = wire.payment.map(Payment.init)
        previousReturned =
            wire.previousAmountReturned.flatMap { Amount(nonNegative: $0) } ?? .zero
        nextStep = wire.nextStep.map(NextStep.init) ?? .none
        mandate = wire.mandate.map(MandateNotice.init)
        isLive = wire.isLive
        polledAt = Timestamp(ms: wire.observed.polledAt.ms)
        metadata = wire.metadata?.json.description ?? ""
        trace = wire.traceparent.flatMap { TraceContext(traceparent: $0) }
        self.json = json
    }

    /// Identifies this recording of the event among those with its number: 36 bits of its ID and the time of its poll.
    ///
    /// A failover may lose the end of a log. The events recorded in its place can have the same IDs, although one
    /// before them is another. Their time differs, because a source was polled again; only an order's event has the
    /// time of the payment that caused it.
    package var digest: String {
        Self.digest(of: id.description.utf8, polledAt: Time(ms: polledAt.ms).description.utf8)
    }

    /// Returns the digest of an event with this ID, and this time in the form of its JSON.
    package static func digest(
        of id: some Sequence<UInt8>,
        polledAt: some Sequence<UInt8>
    ) -> String {
        String(Digest.base64url(of: Array(id) + [0] + polledAt, bytes: 5).prefix(6))
    }

    /// Returns the event as a store records it: with the metadata of its watch, which only the store has.
    package func carrying(metadata: String) -> Event {
        guard !metadata.isEmpty else { return self }
        return Event(json: json.dropLast() + ",\"metadata\":\(metadata)}") ?? self
    }
}

/// The subject of an event.
package enum EventSubject: Hashable, Sendable {
    /// The status, a relevant fact next to it, or the end of the watch.
    case status
    /// The result of a charge.
    case charge(ObservedCharge.Status)
    case payment(PaymentState)
    /// A refund that is pending, waits for the customer, or has failed.
    case refund(RefundProgress.Status)
    /// The customer's next step.
    case nextStep
    /// The state of an order over all attempts to pay it.
    case order(PaymentState)
    /// A second payment of an order.
    case orderPaidTwice
    /// The announcement of a debit.
    case mandate(PollerPayments.MandateNotice)
    /// The start or the end of an incident of the cluster (`Incident`).
    case incident(String)

    /// The first parts of event types; `watch` when polling was stopped.
    package static let families =
        SourceKind.allCases.map(\.rawValue)
        + ["watch", "payment", "refund", "next_step", "order", "mandate", operatorFamily]
}

extension PollerPayments.ChargeProgress {
    /// The wire form.
    package var wire: PollerWire.ChargeProgress {
        var wire = PollerWire.ChargeProgress()
        wire.state = Open(rawValue: name)
        wire.id = charge?.description
        return wire
    }
}

/// The ID of an event, derived from its content.
///
/// A process that creates the event again, after a crash or on another machine, gets the same ID, and every channel
/// sends it. Consumers deduplicate by it.
package struct EventID: Hashable, Sendable, CustomStringConvertible {
    /// The ID: `evt_` and 24 characters of base64url (144 bits).
    package let description: String

    /// Creates the ID of the `seq`-th event of a watch's `run`, which started at `began`.
    ///
    /// A closed watch is deleted after ``RetentionSpans/deliveryMax`` at the earliest, and a new watch of the same
    /// source then starts with run and seq 1 again. So the ID also depends on the span of this length in which the run
    /// began. It does not depend on the exact instant: if a failover lost an accepted request, the repeated request
    /// usually creates the IDs that were already delivered.
    package init(key: WatchKey, run: Int, began: Timestamp, seq: Int, type: String) {
        let parts = [
            key.account.description, key.kind.rawValue, key.source.description, String(run),
            String(seq), type, String(began.ms / RetentionSpans.deliveryMax.ms),
        ]
        description = "evt_" + Digest.base64url(of: parts, bytes: 18)
    }

    /// Creates the ID of a notice's event, which is the same at any time and in any process.
    init(announcing notice: PollerPayments.MandateNotice, of key: WatchKey) {
        let parts = [
            key.account.description, key.kind.rawValue, key.source.description, "mandate",
            notice.id,
        ]
        description = "evt_" + Digest.base64url(of: parts, bytes: 18)
    }

    /// Wraps an ID from a store.
    package init(unchecked text: String) {
        description = text
    }
}

extension Event {
    /// The event without its object, for recipients that read the object themselves.
    package var thinJSON: String {
        var thin = ThinEvent()
        thin.id = id.description
        thin.type = type
        thin.account = key.account.description
        thin.source = key.source.description
        thin.order = order?.description
        thin.seq = seq
        thin.status = status?.description
        thin.isFinal = final
        thin.payment = payment?.state.rawValue
        return thin.json
    }
}
