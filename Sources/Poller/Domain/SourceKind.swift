/// What sort of upstream object a source is; it names the upstream endpoint, and so the lane.
package enum SourceKind: String, Hashable, Sendable, CaseIterable {
    /// A Stripe Source, `src_…`.
    case source
    /// A Stripe PaymentIntent, `pi_…`.
    case paymentIntent = "payment_intent"

    /// The upstream endpoint all objects of this kind share a rate limit on.
    package var endpoint: String {
        switch self {
        case .source: "sources"
        case .paymentIntent: "payment_intents"
        }
    }

    /// The kind an id's prefix tells, nil when it tells none.
    package init?(inferredFrom source: SourceID) {
        if source.description.hasPrefix("src_") {
            self = .source
        } else if source.description.hasPrefix("pi_") {
            self = .paymentIntent
        } else {
            return nil
        }
    }
}
