package import JSONText

/// One recorded change of one source: what every channel tells.
///
/// *Shape*: these bytes are recorded, published, signed and sent, and never written anew.
/// ```
/// {"id":"evt_…","type":"source.chargeable","account":"default","source":"src_…","kind":"source",
///  "seq":2,"run":1,"previous_status":"pending","status":"chargeable","final":false,
///  "closed_reason":null,"payment":{"state":"authorised","amount":1099,…},"livemode":true,
///  "object":{…},"observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3}}
/// ```
public struct Event: WireObject, Hashable {
    /// The same on every channel: dedupe by it.
    public var id = ""
    /// What happened: `source.chargeable`, `payment_intent.succeeded`, `watch.expired`.
    public var type = ""
    /// The account at the upstream.
    public var account = ""
    /// The upstream's id.
    public var source = ""
    /// What sort of object that is.
    public var kind = Open(Kind.source)
    /// What you call the order that is paid by it; nil where nobody has said.
    public var order: String?
    /// Gapless for each watch, from 1, over all its runs.
    public var seq = 0
    /// The run it happened in.
    public var run = 0
    /// The status told last before; equal to ``status`` when something beside it has changed.
    public var previousStatus: String?
    /// The status now.
    public var status: String?
    /// The status cannot change any more: the payment has come to its end.
    public var isFinal = false
    /// Why the watch ended with this event, the last of its run; nil while it goes on.
    public var closedReason: Open<Watch.ClosedReason>?
    /// How far its charge has come; nil before somebody has tried to charge it.
    public var charge: ChargeProgress?
    /// What is true of the money; nil where nobody knows of any.
    public var payment: Payment?
    /// What the customer must do next; nil when there is nothing.
    public var nextStep: NextStep?
    /// The debit that is announced; only in `mandate.notification`.
    public var mandate: MandateNotice?
    /// Whether real money is meant; nil where the upstream does not say.
    public var isLive: Bool?
    /// The upstream's object without any `client_secret`; nil when it is too large to keep, and in
    /// an event that was recorded together with a later one, which has it.
    package var object: RawJSON?
    /// When, and how late, the upstream was asked.
    public var observed = Observed()
    /// Its place in the trace of the request to enqueue (W3C Trace Context); nil where there was none.
    public var traceparent: String?
    /// What was given to enqueue; nil when that was nothing.
    public var metadata: Texts?

    /// When, and how late, the upstream was asked.
    public struct Observed: WireObject, Hashable {
        /// When the upstream was asked.
        public var polledAt = Time(ms: 0)
        /// How late that was, in ms; customers are not told.
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
        Field("id", \.id, note: "The same on every channel; dedupe by it.")
        Field("type", \.type, .examples("source.chargeable", "watch.expired"))
        Field("account", \.account)
        Field("source", \.source)
        Field("kind", \.kind, .toldKind)
        Field("order", \.order, note: "The order that is paid by it, as the watch names it.")
        Field("seq", \.seq)
        Field("run", \.run)
        Field(
            nullable: "previous_status",
            \.previousStatus,
            note:
                "The last one told before. The same as status when something else has changed that "
                + "is waited for: an error or a next action of an intent, an amount received or "
                + "returned, attempts remaining."
        )
        Field(nullable: "status", \.status)
        Field(
            "final",
            \.isFinal,
            note: "The status cannot change any more: the payment has come to its end."
        )
        Field(
            nullable: "closed_reason",
            \.closedReason,
            note: "Why the watch ended with this event; null while it goes on. No further event of "
                + "this run follows."
        )
        Field(
            "charge",
            \.charge,
            note: "How far its charge has come; only once somebody has tried to charge it."
        )
        Field("payment", \.payment, note: "What is true of the money, where that is known.")
        Field(
            "next_step",
            \.nextStep,
            note: "What the customer must do next; left out when there is nothing."
        )
        Field(
            "mandate",
            \.mandate,
            note: "The debit that is announced; only in mandate.notification."
        )
        Field("livemode", \.isLive, note: "Whether real money is meant.")
        Field(nullable: "object", \.object, .type("object"))
        Field("observed", \.observed)
        Field(
            "traceparent",
            \.traceparent,
            note:
                "Its place in the trace of the request to enqueue, as W3C Trace Context writes it; "
                + "only where there is one."
        )
        Field("metadata", \.metadata, note: "What was given to enqueue.")
    }
}

/// An event without its object, for webhook endpoints that ask for the rest themselves.
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
    /// The word for the payment; nil where nobody knows of any.
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

/// An event as the customer of a source may see it: neither the account, the order nor the charge, of the object
/// what the gateway leaves of it, and of ``Event/Observed`` no lag.
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
