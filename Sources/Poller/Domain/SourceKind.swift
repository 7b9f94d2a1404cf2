/// What sort of upstream object a source is; it names the upstream endpoint, and so the lane.
package enum SourceKind: String, Hashable, Sendable, CaseIterable {
    /// A Stripe Source, `src_…`.
    case source
    /// A Stripe PaymentIntent, `pi_…`.
    case paymentIntent = "payment_intent"
    /// A Stripe SetupIntent, `seti_…`.
    case setupIntent = "setup_intent"
    /// A Stripe Charge, `ch_…` or `py_…`.
    case charge
    /// Whatever a configured upstream answers with JSON; the account names the upstream.
    case http

    /// The upstream endpoint all objects of this kind share a rate limit on.
    package var endpoint: String {
        switch self {
        case .source: "sources"
        case .paymentIntent: "payment_intents"
        case .setupIntent: "setup_intents"
        case .charge: "charges"
        case .http: "http"
        }
    }

    /// How ids of this kind begin; empty when they may be anything.
    package var prefixes: [String] {
        switch self {
        case .source: ["src_"]
        case .paymentIntent: ["pi_"]
        case .setupIntent: ["seti_"]
        case .charge: ["ch_", "py_"]
        case .http: []
        }
    }

    /// The kind an id's prefix tells, nil when it tells none.
    package init?(inferredFrom source: SourceID) {
        let found = Self.allCases.first { kind in
            kind.prefixes.contains { source.description.hasPrefix($0) }
        }
        guard let found else { return nil }
        self = found
    }
}
