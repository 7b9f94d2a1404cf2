/// What sort of upstream object a source is; it names the upstream endpoint, and so the lane.
package enum SourceKind: Hashable, Sendable, CaseIterable, RawRepresentable {
    /// A Stripe Source, `src_…`.
    case source
    /// A Stripe PaymentIntent, `pi_…`.
    case paymentIntent
    /// A Stripe SetupIntent, `seti_…`.
    case setupIntent
    /// A Stripe Charge, `ch_…` or `py_…`.
    case charge
    /// Whatever a configured upstream answers with JSON; the account names the upstream.
    case http
    /// One that only another release knows: its events are carried as they are, and its watches
    /// left to workers of that release.
    case other(String)

    /// Those this release knows, which are all that can be asked for.
    package static let allCases: [SourceKind] = [
        .source, .paymentIntent, .setupIntent, .charge, .http,
    ]

    /// The kind of a name that somebody gave; nil when this release does not know it.
    package init?(rawValue name: String) {
        guard let kind = Self.allCases.first(where: { $0.rawValue == name }) else { return nil }
        self = kind
    }

    /// The kind of a name that was recorded, by this release or another.
    package init(recorded name: String) {
        self = Self(rawValue: name) ?? .other(name)
    }

    /// What it is called in events and records.
    package var rawValue: String {
        switch self {
        case .source: "source"
        case .paymentIntent: "payment_intent"
        case .setupIntent: "setup_intent"
        case .charge: "charge"
        case .http: "http"
        case .other(let name): name
        }
    }

    /// The upstream endpoint all objects of this kind share a rate limit on.
    ///
    /// The log of a watch is found by it: that of a kind yet to come must be its name with an s,
    /// or older releases do not find what they are to carry.
    package var endpoint: String {
        switch self {
        case .source: "sources"
        case .paymentIntent: "payment_intents"
        case .setupIntent: "setup_intents"
        case .charge: "charges"
        case .http: "http"
        case .other(let name): "\(name)s"
        }
    }

    /// The kind of an endpoint, as ``endpoint`` makes it.
    package init?(endpoint: some StringProtocol) {
        if let known = Self.allCases.first(where: { $0.endpoint == endpoint }) {
            self = known
        } else if endpoint.count > 1, endpoint.hasSuffix("s") {
            self = .other(String(endpoint.dropLast()))
        } else {
            return nil
        }
    }

    /// Whether its objects are payments of which we know what their statuses mean.
    package var isOfPayments: Bool {
        switch self {
        case .source, .paymentIntent, .setupIntent, .charge: true
        case .http, .other: false
        }
    }

    /// How ids of this kind begin; empty when they may be anything.
    package var prefixes: [String] {
        switch self {
        case .source: ["src_"]
        case .paymentIntent: ["pi_"]
        case .setupIntent: ["seti_"]
        case .charge: ["ch_", "py_"]
        case .http, .other: []
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

/// The upstream's own id of the thing that is watched: `src_…`, `pi_…`.
package struct SourceID: Hashable, Sendable, CustomStringConvertible {
    /// 1–255 of `A–Z a–z 0–9 _ - .`, and no secret; Stripe promises ids of at most 255 characters.
    package let description: String

    /// Checks and wraps an id from outside.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(text, field: "source", lengthMax: 255)
    }

    /// Wraps an id that this system wrote itself.
    package init(unchecked text: String) {
        description = text
    }
}
