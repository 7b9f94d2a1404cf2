/// An entry of a payment's timeline, for people.
///
/// *Shape* (unknown fields are left out):
/// ```
/// {"at":"2026-11-20T09:30:00.125Z","kind":"delivery","tone":"careful",
///  "text":"shop.example/hook could not be told: “Paid” (3 attempts).",
///  "detail":"HTTP 500","until":"2026-11-20T09:34:10.004Z","attempts":[…]}
/// ```
public struct TimelineEntry: WireObject, Hashable {
    /// The kind of entry.
    public enum Kind: String, Word {
        /// The watch was created.
        case created
        /// A poll of the upstream that is worth an entry.
        case look
        /// A hint from the upstream.
        case hint
        /// A visit of the customer to the return page.
        case visit
        /// A change of the payment.
        case change
        /// A change of a charge of the payment.
        case charge
        /// An action of a person or key.
        case deed
        /// A delivery to a service, successful or not.
        case delivery
        /// An email to a person, successful or not.
        case mail
        /// A pending delivery that is held up. Follows all past entries.
        case ahead
    }

    /// The tone in which to display an entry.
    public enum Tone: String, Word {
        case quiet, info, good, careful, bad
    }

    /// The time of the entry.
    public var at = Time(ms: 0)
    /// The kind of entry.
    public var kind = Open(Kind.change)
    /// The tone; `nil` for neutral.
    public var tone: Open<Tone>?
    /// One or two English sentences.
    public var text = ""
    /// Further data, such as an ID, an event type or a response code.
    public var detail: String?
    /// The name of the key that acted.
    public var by: String?
    /// The end of a repeated occurrence.
    public var until: Time?
    /// The endpoint of the entry.
    public var endpoint: String?
    /// The payment state that the endpoint has accepted; `nil` if nothing was delivered to it.
    public var accepted: String?
    /// The event that was delivered or failed; `nil` for other entries.
    public var seq: Int?
    /// The payment state as of that event; `nil` if no payment is known.
    public var payment: Open<Payment.State>?
    /// The attempts combined in this entry, oldest first.
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
