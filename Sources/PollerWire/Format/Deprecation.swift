/// The replacement for an object with a deprecated API, such as a Stripe Source.
///
/// *Shape*:
/// ```
/// {"replacement":"ideal","urgency":"turned_off","advice":"Confirm with return_url; …",
///  "url":"https://docs.stripe.com/payments/payment-methods/transitioning"}
/// ```
/// *Source*: <https://docs.stripe.com/sources>.
public struct Deprecation: WireObject, Hashable {
    /// The urgency of the migration.
    public enum Urgency: String, Word {
        /// The payment method has ended, and customers can no longer use it.
        case ended
        /// The upstream will turn off the API.
        case turnedOff = "turned_off"
        /// The API stays, without new features.
        case stays
    }

    /// The type of the PaymentMethod that replaces the source.
    ///
    /// `none` for a method that has ended, and `payment_intent` while the source's type is unknown.
    public var replacement = ""
    /// The urgency; `nil` while the type of the source is unknown.
    public var urgency: Open<Urgency>?
    /// The difference, in a sentence for people.
    public var advice = ""
    /// The upstream's migration guide.
    public var url = ""

    package init() {}

    package static let shape = Shape<Deprecation> {
        Field("replacement", \.replacement, .examples("ideal", "card", "none", "payment_intent"))
            .note(
                "The type of the PaymentMethod to use instead. none if the method was "
                    + "discontinued, payment_intent while the source's type is unknown."
            )
        Field("urgency", \.urgency).note("Left out while the source's type is unknown.")
        Field("advice", \.advice).note("The difference to the Source, in a sentence.")
        Field("url", \.url).note("The upstream's migration guide.")
    }
}
