import PollerWire
import StripeAPI

extension PollerWire.Deprecation {
    /// Returns the replacement of a Stripe Source.
    ///
    /// Stripe has deprecated the Sources API, and each type has a PaymentMethod as its replacement
    /// (``SourceMigration``).
    ///
    /// `type`: the type of the source, such as `ideal`; `nil` or an unknown type before the first poll.
    static func ofSource(_ type: String?) -> Self {
        var deprecation = Self()
        deprecation.url = SourceMigration.guideURL
        guard let migration = type.flatMap({ SourceType(rawValue: $0).migration }) else {
            deprecation.replacement = "payment_intent"
            deprecation.advice =
                "Stripe has deprecated Sources. Use a PaymentIntent with a "
                + "PaymentMethod; the type to use is known once the source has been "
                + "polled."
            return deprecation
        }
        deprecation.replacement = migration.paymentMethod
        deprecation.urgency = Open(rawValue: migration.urgency.rawValue)
        deprecation.advice = migration.advice
        return deprecation
    }
}
