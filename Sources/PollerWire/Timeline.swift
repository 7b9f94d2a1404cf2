/// One thing that became of a payment, or was done about it, as a person reads it.
///
/// *Shape* (what is not known is left out):
/// ```
/// {"at":"2026-11-20T09:30:00.125Z","kind":"delivery","tone":"careful",
///  "text":"shop.example/hook could not be told: “Paid” (3 attempts).",
///  "detail":"HTTP 500","until":"2026-11-20T09:34:10.004Z","attempts":[…]}
/// ```
public struct TimelineEntry: WireObject, Hashable {
    /// The sort of thing it was.
    public enum Kind: String, Word {
        /// Somebody asked for it to be watched.
        case created
        /// A look at the upstream, worth telling for itself.
        case look
        /// The upstream told of something.
        case hint
        /// The customer was on the return page.
        case visit
        /// Something became of the payment.
        case change
        /// Something became of a charge that was made for it.
        case charge
        /// Somebody did something about it.
        case deed
        /// A service was told, or could not be.
        case delivery
        /// A person was mailed, or could not be.
        case mail
        /// Somebody has still to be told and is held up; always behind everything that was.
        case ahead
    }

    /// How it is to be taken.
    public enum Tone: String, Word {
        case quiet, info, good, careful, bad
    }

    /// When it was.
    public var at = Time(ms: 0)
    /// The sort of thing it was.
    public var kind = Open(Kind.change)
    /// How it is to be taken; nil for neither good nor bad.
    public var tone: Open<Tone>?
    /// A sentence or two, English.
    public var text = ""
    /// What else is known: an id, an event's type, an answer's code.
    public var detail: String?
    /// Who did it: the name of a key.
    public var by: String?
    /// The end of what happened again and again.
    public var until: Time?
    /// The endpoint that it is about.
    public var endpoint: String?
    /// What the endpoint has accepted, in a word; nil where it was told nothing.
    public var accepted: String?
    /// The event that was delivered, or could not be; nil for other entries.
    public var seq: Int?
    /// The payment state as of that event; nil where no payment is known.
    public var payment: Open<Payment.State>?
    /// The attempts that are told as one, the oldest first.
    public var attempts: [DeliveryAttempt]?

    package init() {}

    package static let shape = Shape<TimelineEntry>("TimelineEntry") {
        Field("at", \.at, note: "When it was; of what is ahead, when it may be.")
        Field(
            "kind",
            \.kind,
            note: "ahead: somebody has still to be told and is held up; behind everything that was."
        )
        Field("tone", \.tone, note: "Left out for what is neither good nor bad.")
        Field("text", \.text, note: "A sentence or two for people, English; not to be parsed.")
        Field("detail", \.detail, note: "An id, an event's type, the answer's code.")
        Field("by", \.by, note: "The name of the key that did it.")
        Field("until", \.until, note: "The end of what happened again and again.")
        Field("endpoint", \.endpoint, note: "The endpoint that it is about.")
        Field("accepted", \.accepted, note: "What the endpoint has accepted, in a word.")
        Field("seq", \.seq, note: "The event that was delivered, or could not be.")
        Field("payment", \.payment, note: "What was true of the payment as of that event.")
        Field(
            "attempts",
            \.attempts,
            note: "Attempts that failed one after the other and are told as one."
        )
    }
}
