/// What takes the place of an object whose API the upstream has deprecated: of a Stripe Source.
///
/// *Shape*:
/// ```
/// {"replacement":"ideal","urgency":"turned_off","advice":"Confirm with return_url; …",
///  "url":"https://docs.stripe.com/payments/payment-methods/transitioning"}
/// ```
/// *Source*: <https://docs.stripe.com/sources>.
public struct Deprecation: WireObject, Hashable {
    /// How urgent it is.
    public enum Urgency: String, Word {
        /// The method itself has ended: nobody can pay by it any more.
        case ended
        /// The upstream is to turn it off.
        case turnedOff = "turned_off"
        /// It stays, without anything new.
        case stays
    }

    /// The type of the PaymentMethod that takes its place, `none` for a method that has ended, and
    /// `payment_intent` while the type of the source is not known.
    public var replacement = ""
    /// How urgent it is; nil while the type of the source is not known.
    public var urgency: Open<Urgency>?
    /// What is different, in a sentence for people.
    public var advice = ""
    /// The upstream's guide.
    public var url = ""

    package init() {}

    package static let shape = Shape<Deprecation> {
        Field(
            "replacement",
            \.replacement,
            .examples("ideal", "card", "none", "payment_intent"),
            note:
                "The type of the PaymentMethod that takes its place; none where the method has ended, "
                + "payment_intent while the type of the source is not known."
        )
        Field("urgency", \.urgency, note: "Left out while the type of the source is not known.")
        Field("advice", \.advice, note: "What is different, in a sentence.")
        Field("url", \.url, note: "The upstream's guide.")
    }
}
