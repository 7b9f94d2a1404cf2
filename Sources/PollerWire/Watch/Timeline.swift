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
        Field("at", \.at).note("The time of the entry. For a pending one, the expected time.")
        Field("kind", \.kind)
            .note(
                "ahead: a pending delivery that is delayed. Such entries come after all past ones."
            )
        Field("tone", \.tone).note("Left out if neutral.")
        Field("text", \.text).note("One or two English sentences for people. Do not parse them.")
        Field("detail", \.detail).note("An ID, an event type or the response's code.")
        Field("by", \.by).note("The name of the key that made the change.")
        Field("until", \.until).note("The end of a repeated occurrence.")
        Field("endpoint", \.endpoint).note("The endpoint concerned.")
        Field("accepted", \.accepted).note("The payment state that the endpoint has accepted.")
        Field("seq", \.seq).note("The event that was or could not be delivered.")
        Field("payment", \.payment).note("The payment as of that event.")
        Field("attempts", \.attempts)
            .note("Consecutive failed attempts that are combined in one entry.")
    }
}
