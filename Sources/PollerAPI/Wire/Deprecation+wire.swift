import PollerWire
import StripeAPI

extension PollerWire.Deprecation {
    /// What takes the place of a Stripe Source.
    ///
    /// Stripe has deprecated Sources as a whole, and each type has a PaymentMethod in its place
    /// (``SourceMigration``).
    ///
    /// `type`: that of the source, as `ideal`; nil, or one that we do not know, before the first poll.
    static func ofSource(_ type: String?) -> Self {
        var deprecation = Self()
        deprecation.url = SourceMigration.guideURL
        guard let migration = type.flatMap({ SourceType(rawValue: $0).migration }) else {
            deprecation.replacement = "payment_intent"
            deprecation.advice =
                "Stripe has deprecated Sources. Take a PaymentIntent with a PaymentMethod; which one "
                + "is told once the source has been polled."
            return deprecation
        }
        deprecation.replacement = migration.paymentMethod
        deprecation.urgency = Open(rawValue: migration.urgency.rawValue)
        deprecation.advice = migration.advice
        return deprecation
    }
}
