package import JSONText
package import PollerIdentity
package import PollerWire
import SafeNumbers

/// One recorded change of one source: what every channel tells.
///
/// *Shape* (one line of UTF-8 JSON; these bytes are stored, published, signed and sent, never re-serialised):
/// ```
/// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","kind":"source",
///  "order":"A77","seq":2,"run":1,"previous_status":"pending","status":"chargeable","final":false,
///  "closed_reason":null,"payment":{…},"next_step":{…},"livemode":true,"object":{…},
///  "observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3},"metadata":{…}}
/// ```
/// `type` is `<kind>.<status>`; `charge.<outcome>` when the source was charged, with the charge as
/// `object` and the source's own status repeated; `payment.<state>` when what is true of the money
/// changed, and `next_step.changed` when the customer must do something else (``EventSubject``);
/// `mandate.notification`, with what is debited in `mandate`, when a debit is coming; or
/// `watch.<closed reason>` when the watch ended without a final status; then `final` is false and
/// `status` repeats the last one seen (or null). Of an order (``Order``) `type` is `order.<state>` or
/// `order.paid_twice`, `kind` is `order`, `source` and `order` are its name, `status` is the word, and
/// `object` the order with all tries to pay it. What tells operators of the cluster is `operator.<kind>`,
/// of kind `incident` and an account that no key is bound to, with the incident as `object`. `order`, `payment`, `next_step` and `livemode` are in
/// every event, each where it is known, and `metadata` as they were given to enqueue. `object` is the
/// upstream's object without any `client_secret` and without the account that money goes back to; null
/// when it is larger than ``objectBytesMax``. `previous_status` is the last one told
/// before; it equals `status` when the status stayed and something else that matters changed: a try that was declined, money
/// that arrived, another next step (``Observation/detail``). Once a source was charged, its events also
/// have `"charge":{"state":"pending","id":"ch_…"}` beside `closed_reason`: how far that has come. The object
/// is recorded without white space outside strings (`RawJSON.compacted`), so no channel, list or archive that
/// separates events by line ends can be given a line of the upstream's own.
///
/// What one look has shown is recorded together, as up to three events: of the payment, of the next
/// step, and of the status. The last of them has the object and says how the watch ends; the others
/// repeat the status that was told before. That nothing is left to do is told by the payment's event
/// alone, where there is one.
package struct Event: Hashable, Sendable {
    /// An object beyond this is left out: it would sit in Redis once for every change.
    package static let objectBytesMax = 65_536

    package let id: EventID
    package let type: String
    package let key: WatchKey
    /// What is paid by the watch; nil where nobody has said.
    package let order: OrderID?
    package let seq: Int
    package let run: Int
    package let previousStatus: SourceStatus?
    package let status: SourceStatus?
    /// The status cannot change any more: the payment has come to its end.
    package let final: Bool
    /// Why the watch ended with this event; nil while it goes on.
    ///
    /// `settled` for a final status, `reached` for another that was all the watch was there for,
    /// any other reason when we stopped looking. No further event of this run follows.
    package let closed: ClosedReason?
    /// How far the charge of the source has come with this event.
    package let progress: ChargeProgress
    /// The payment; nil where none is known.
    package let payment: Payment?
    /// What the customer must do next, without links that carry a secret.
    package let nextStep: NextStep
    /// The debit that it announces; nil in events of anything else.
    package let mandate: MandateNotice?
    /// Whether real money is meant; nil where the upstream does not say.
    package let isLive: Bool?
    /// When the upstream was asked; for a cancellation, when that was asked for.
    package let polledAt: Timestamp
    /// What was given with the request to watch, a JSON object; empty when that was nothing.
    package let metadata: String
    /// The trace it belongs to, and its cause there; nil where nobody traces.
    package let trace: TraceContext?
    /// The whole event as it goes over every wire.
    package let json: String
    /// Earlier events that gave way to this one at one endpoint; not part of what was recorded.
    package var skippedSeqs: [Int] = []
    /// Whether it came back from an archive (``ArchivedWatch``), so that nobody is told of it any more.
    package var isRestored = false

    /// Records a change.
    ///
    /// `lag` is how late the poll was against its due time; `closed` is set when the watch ends
    /// here, unless `final` tells that already; `progress` is how far its charge has come, when that
    /// is not as the watch knows it; `place` counts the events recorded together before this one.
    package init(
        watch: Watch,
        of subject: EventSubject = .status,
        at place: Int = 0,
        status: SourceStatus?,
        final: Bool,
        closed: ClosedReason? = nil,
        progress: ChargeProgress? = nil,
        payment: Payment? = nil,
        nextStep: NextStep = .none,
        isLive: Bool? = nil,
        object: RawJSON?,
        polledAt: Timestamp,
        lag: Duration
    ) {
        key = watch.key
        order = watch.order
        // A watch's count is bounded, and `place` counts the events of one commit: the sum fits.
        seq = watch.seq + 1 + place
        run = watch.run
        previousStatus = watch.state.status
        self.status = status
        let stopped = closed == .settled || closed == .reached ? nil : closed
        self.final = final && stopped == nil && closed != .reached
        self.closed = closed ?? (final ? .settled : nil)
        self.progress = progress ?? watch.state.charge
        self.payment = payment
        self.nextStep = nextStep.withoutSecrets
        self.isLive = isLive
        self.polledAt = polledAt
        type =
            switch subject {
            case .payment(let state): state.eventType
            case .refund(let status): status.eventType
            case .nextStep: "next_step.changed"
            case .order(let state): "order.\(state.rawValue)"
            case .orderPaidTwice: "order.paid_twice"
            case .mandate: "mandate.notification"
            case .incident(let kind): "\(EventSubject.operatorFamily).\(kind)"
            case .charge(let status) where stopped == nil: "charge.\(status.rawValue)"
            case .status, .charge:
                stopped.map { "watch.\($0.rawValue)" }
                    ?? "\(watch.key.kind.rawValue).\(status?.typeName ?? "unknown")"
            }
        if case .mandate(let notice) = subject {
            mandate = notice
            id = EventID(announcing: notice, of: watch.key)
        } else {
            mandate = nil
            id = EventID(
                key: watch.key,
                run: watch.run,
                began: watch.createdAt,
                seq: seq,
                type: type
            )
        }
        // Upstreams may answer with line ends, and an event is one line wherever it goes.
        let compact = object?.compacted
        let kept = compact.flatMap { $0.utf8.count > Self.objectBytesMax ? nil : $0 }
        var wire = PollerWire.Event()
        wire.id = id.description
        wire.type = type
        wire.account = key.account.description
        wire.source = key.source.description
        wire.kind = Open(rawValue: key.kind.rawValue)
        wire.order = order?.description
        wire.seq = seq
        wire.run = run
        wire.previousStatus = previousStatus?.description
        wire.status = status?.description
        wire.isFinal = self.final
        wire.closedReason = self.closed.map { Open(rawValue: $0.rawValue) }
        wire.charge = self.progress == .none ? nil : self.progress.wire
        wire.payment = payment?.wire
        wire.nextStep = self.nextStep == .none ? nil : self.nextStep.wire
        wire.mandate = mandate?.wire
        wire.isLive = isLive
        wire.object = kept?.withoutSecrets()
        wire.observed.polledAt = Time(ms: polledAt.ms)
        wire.observed.lagMs = Int(clamping: lag.ms)
        trace = watch.trace
        wire.traceparent = trace?.traceparent
        metadata = ""
        json = wire.json
    }

    /// Reads an event back from its bytes.
    ///
    /// - Returns: nil when the text is not an event of ours.
    package init?(json: String) {
        // Why a text is none is of no use to a reader: nobody but us writes where events are kept.
        guard let text = RawJSON(json), let wire = try? PollerWire.Event(reading: text) else {
            return nil
        }
        // Counts beyond what JSON carries exactly are of no watch.
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
        nextStep = wire.nextStep.map(NextStep.init) ?? .none
        mandate = wire.mandate.map(MandateNotice.init)
        isLive = wire.isLive
        polledAt = Timestamp(ms: wire.observed.polledAt.ms)
        metadata = wire.metadata?.json.description ?? ""
        trace = wire.traceparent.flatMap { TraceContext(traceparent: $0) }
        self.json = json
    }

    /// The event as a store records it: with the metadata of its watch, which nobody else has at hand.
    package func carrying(metadata: String) -> Event {
        guard !metadata.isEmpty else { return self }
        return Event(json: json.dropLast() + ",\"metadata\":\(metadata)}") ?? self
    }
}

/// What an event tells.
package enum EventSubject: Hashable, Sendable {
    /// The status, something that matters beside it, or how the watch ends.
    case status
    /// What became of a charge.
    case charge(ChargeSeen.Status)
    /// What is true of the money.
    case payment(PaymentState)
    /// A refund that is pending, waits for the customer, or came to nothing.
    case refund(RefundProgress.Status)
    /// What the customer must do next.
    case nextStep
    /// What is true of an order, all tries to pay it together.
    case order(PaymentState)
    /// That an order was paid by one more try than one.
    case orderPaidTwice
    /// That a debit is coming.
    case mandate(MandateNotice)
    /// That something of the cluster is wrong, or is well again (``Incident``).
    case incident(String)

    /// What an event's type begins with; `watch` when we stopped looking.
    package static let families =
        SourceKind.allCases.map(\.rawValue)
        + ["watch", "payment", "refund", "next_step", "order", "mandate", operatorFamily]
}

extension ChargeProgress {
    /// The progress on the wire.
    package var wire: PollerWire.ChargeProgress {
        var wire = PollerWire.ChargeProgress()
        wire.state = Open(rawValue: name)
        wire.id = charge?.description
        return wire
    }
}

/// The id of an event, derived from what it says.
///
/// Whoever re-creates the event, after a crash or on another machine, makes the same id, and
/// every channel carries it. Consumers dedupe by it.
package struct EventID: Hashable, Sendable, CustomStringConvertible {
    /// `evt_` and 24 characters of base64url (144 bits).
    package let description: String

    /// The id of the `seq`-th event of a watch's `run`, which `began` then.
    ///
    /// A closed watch is forgotten after ``RetentionSpans/deliveryMax`` at the earliest, and one of
    /// the same source then begins with run and seq 1 again: so the id also depends on which such
    /// span the run began in. Not on the instant: who orders again what a failover lost together
    /// with its acceptance mostly makes the ids that were told already.
    package init(key: WatchKey, run: Int, began: Timestamp, seq: Int, type: String) {
        let said = [
            key.account.description, key.kind.rawValue, key.source.description, String(run),
            String(seq), type, String(began.ms / RetentionSpans.deliveryMax.ms),
        ]
        description = "evt_" + Digest.base64url(of: said, bytes: 18)
    }

    /// The id of what is told of a notice: the same whenever and wherever that is heard.
    init(announcing notice: MandateNotice, of key: WatchKey) {
        let said = [
            key.account.description, key.kind.rawValue, key.source.description, "mandate",
            notice.id,
        ]
        description = "evt_" + Digest.base64url(of: said, bytes: 18)
    }

    /// Enough of it to tell two events of one number apart: 36 bits.
    package var digest: String { String(description.dropFirst(4).prefix(6)) }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}

extension Event {
    /// The event without its object, for receivers that ask for the rest themselves.
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

    /// The test event of an endpoint; it is about no source.
    package static func test(of endpoint: Endpoint, at now: Timestamp) -> Event? {
        var wire = PollerWire.Event()
        wire.id =
            "evt_test_" + Digest.base64url(of: [endpoint.id.description, "\(now)"], bytes: 12)
        wire.type = "endpoint.test"
        wire.account = endpoint.account.description
        wire.source = "src_test"
        wire.observed.polledAt = Time(ms: now.ms)
        wire.observed.lagMs = 0
        return Event(json: wire.json)
    }
}
