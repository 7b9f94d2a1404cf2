package import JSONText

/// A recorded change of one source, as sent on every channel.
///
/// *Shape*: these bytes are recorded, published, signed and sent. They are never encoded again.
/// ```
/// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","kind":"source",
///  "seq":2,"run":1,"previous_status":"pending","status":"chargeable","final":false,
///  "closed_reason":null,"payment":{"state":"authorised","amount":1099,…},"livemode":true,
///  "object":{…},"observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3}}
/// ```
public struct Event: WireObject, Hashable {
    /// The ID, the same on every channel.
    ///
    /// Recipients deduplicate by it.
    public var id = ""
    /// The type, such as `source.chargeable`, `payment_intent.succeeded` or `watch.expired`.
    public var type = ""
    /// The account at the upstream.
    public var account = ""
    /// The ID at the upstream.
    public var source = ""
    /// The kind of the object.
    public var kind = Open(Kind.source)
    /// The shop's order ID, if given.
    public var order: String?
    /// The sequence number within the watch, from 1 and without gaps, across all runs.
    public var seq = 0
    /// The run of the watch.
    public var run = 0
    /// The status of the previous event.
    ///
    /// It equals ``status`` if another field has changed.
    public var previousStatus: String?
    /// The current status.
    public var status: String?
    /// Whether the status is final.
    public var isFinal = false
    /// The close reason if this is the last event of the run; `nil` while the watch continues.
    public var closedReason: Open<Watch.ClosedReason>?
    /// The progress of the charge; `nil` before a charge was attempted.
    public var charge: ChargeProgress?
    /// The payment; `nil` if none is known.
    public var payment: Payment?
    /// The returned amount before an event `payment.<state>`; `nil` if it was zero or is unknown.
    public var previousAmountReturned: Int?
    /// The customer's next action; `nil` if there is none.
    public var nextStep: NextStep?
    /// The announced debit, only in `mandate.notification`.
    public var mandate: MandateNotice?
    /// Whether the payment is in live mode; `nil` if the upstream does not report it.
    public var isLive: Bool?
    /// The upstream's object, without any `client_secret`.
    ///
    /// `nil` if the object is too large to store. Also `nil` if a later event was recorded in the same commit, which
    /// then has the object.
    package var object: RawJSON?
    /// The time and lag of the poll.
    public var observed = Observed()
    /// The W3C Trace Context of the enqueue request; `nil` without a trace.
    public var traceparent: String?
    /// The metadata of the enqueue request; `nil` for none.
    public var metadata: Texts?

    /// The time and lag of the poll.
    public struct Observed: WireObject, Hashable {
        /// The time of the poll.
        public var polledAt = Time(ms: 0)
        /// The delay of the poll in ms, which is not shown to customers.
        public var lagMs: Int?

        package init() {}

        package static let shape = Shape<Observed>(
            nil,
            .keyword("required", #"["polled_at","lag_ms"]"#)
        ) {
            Field("polled_at", \.polledAt)
            Field("lag_ms", \.lagMs)
        }
    }

    package init() {}

    package static let shape = Shape<Event>("Event") {
        Field("id", \.id).note("The same on every channel. Use it to deduplicate.")
        Field("type", \.type, .examples("source.chargeable", "watch.expired"))
        Field("account", \.account)
        Field("source", \.source)
        Field("kind", \.kind, .eventObjectKind)
        Field("order", \.order).note("The watch's order.")
        Field("seq", \.seq)
        Field("run", \.run)
        Field(nullable: "previous_status", \.previousStatus)
            .note(
                "The status in the previous event. Equal to status if something else changed: an "
                    + "error or a next action of an intent, an amount received or returned, or the "
                    + "remaining attempts."
            )
        Field(nullable: "status", \.status)
        Field("final", \.isFinal).note("Whether the status is final and cannot change any more.")
        Field(nullable: "closed_reason", \.closedReason)
            .note(
                "Why the watch ended with this event. null while it is open. It is the last event "
                    + "of this run."
            )
        Field("charge", \.charge)
            .note("The state of the charge. Only after the first attempt to charge it.")
        Field("payment", \.payment).note("The payment's state, if known.")
        Field("previous_amount_returned", \.previousAmountReturned)
            .note(
                "The payment's amount_returned before this event. Only in payment events. Left out "
                    + "if it was 0."
            )
        Field("next_step", \.nextStep)
            .note("What the customer must do next. Left out if there is nothing to do.")
        Field("mandate", \.mandate).note("The announced debit. Only in mandate.notification.")
        Field("livemode", \.isLive).note("Whether the payment is in live mode.")
        Field(nullable: "object", \.object, .type("object"))
        Field("observed", \.observed)
        Field("traceparent", \.traceparent)
            .note(
                "The trace context of the enqueue request, in the format of W3C Trace Context. "
                    + "Left out without a trace."
            )
        Field("metadata", \.metadata).note("The metadata given to enqueue.")
    }
}

/// An event without its object, for webhook endpoints that read the object themselves.
///
/// *Shape*:
/// ```
/// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","seq":2,
///  "status":"chargeable","final":false,"payment":"authorised"}
/// ```
package struct ThinEvent: WireObject, Hashable {
    package var id = ""
    package var type = ""
    package var account = ""
    package var source = ""
    package var order: String?
    package var seq = 0
    package var status: String?
    package var isFinal = false
    /// The payment state; `nil` if no payment is known.
    package var payment: String?

    package init() {}

    package static let shape = Shape<ThinEvent> {
        Field("id", \.id)
        Field("type", \.type)
        Field("account", \.account)
        Field("source", \.source)
        Field("order", \.order)
        Field("seq", \.seq)
        Field(nullable: "status", \.status)
        Field("final", \.isFinal)
        Field("payment", \.payment)
    }
}

/// An event as the customer of a source may see it.
///
/// It has no account, order or charge, and its ``Event/Observed`` has no lag. Its object holds only the fields that the
/// gateway allows.
package struct PublicEvent: WireObject, Hashable {
    package var id = ""
    package var type = ""
    package var source = ""
    package var kind = Open(Kind.source)
    package var seq = 0
    package var run = 0
    package var previousStatus: String?
    package var status: String?
    package var isFinal = false
    package var closedReason: Open<Watch.ClosedReason>?
    package var payment: Payment?
    package var nextStep: NextStep?
    package var object: RawJSON?
    package var observed = Event.Observed()

    package init() {}

    package static let shape = Shape<PublicEvent> {
        Field("id", \.id)
        Field("type", \.type)
        Field("source", \.source)
        Field("kind", \.kind)
        Field("seq", \.seq)
        Field("run", \.run)
        Field(nullable: "previous_status", \.previousStatus)
        Field(nullable: "status", \.status)
        Field("final", \.isFinal)
        Field(nullable: "closed_reason", \.closedReason)
        Field("payment", \.payment)
        Field("next_step", \.nextStep)
        Field(nullable: "object", \.object)
        Field("observed", \.observed)
    }
}
