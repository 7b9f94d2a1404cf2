/// The kind of an upstream object, which determines the upstream endpoint and so the lane.
package enum SourceKind: Hashable, Sendable, CaseIterable, RawRepresentable {
    /// A Stripe Source, `src_…`.
    case source
    /// A Stripe PaymentIntent, `pi_…`.
    case paymentIntent
    /// A Stripe SetupIntent, `seti_…`.
    case setupIntent
    /// A Stripe Charge, `ch_…` or `py_…`.
    case charge
    /// Any JSON response of a configured upstream, which the account names.
    case http
    /// A kind that only another release knows.
    ///
    /// Its events are passed on unchanged, and its watches are left to workers of that release.
    case other(String)

    /// The kinds of this release, which are the kinds that a request may name.
    package static let allCases: [SourceKind] = [
        .source, .paymentIntent, .setupIntent, .charge, .http,
    ]

    /// Creates a kind from its name; `nil` if this release does not know it.
    package init?(rawValue name: String) {
        guard let kind = Self.allCases.first(where: { $0.rawValue == name }) else { return nil }
        self = kind
    }

    /// Creates a kind from a name that this release or another one recorded.
    package init(recorded name: String) {
        self = Self(rawValue: name) ?? .other(name)
    }

    /// The name in events and records.
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

    /// The upstream endpoint, whose rate limit all objects of this kind share.
    ///
    /// It locates the log of a watch. The endpoint of a future kind must be its name with an s, or older releases do
    /// not find the events that they pass on.
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

    package init?(endpoint: some StringProtocol) {
        if let known = Self.allCases.first(where: { $0.endpoint == endpoint }) {
            self = known
        } else if endpoint.count > 1, endpoint.hasSuffix("s") {
            self = .other(String(endpoint.dropLast()))
        } else {
            return nil
        }
    }

    /// Whether the objects are payments with statuses that this system interprets.
    package var isOfPayments: Bool {
        switch self {
        case .source, .paymentIntent, .setupIntent, .charge: true
        case .http, .other: false
        }
    }

    /// The prefixes of IDs of this kind; empty for any ID.
    package var prefixes: [String] {
        switch self {
        case .source: ["src_"]
        case .paymentIntent: ["pi_"]
        case .setupIntent: ["seti_"]
        case .charge: ["ch_", "py_"]
        case .http, .other: []
        }
    }

    /// Infers the kind from an ID's prefix; `nil` without a known prefix.
    package init?(inferredFrom source: SourceID) {
        let found = Self.allCases.first { kind in
            kind.prefixes.contains { source.description.hasPrefix($0) }
        }
        guard let found else { return nil }
        self = found
    }
}

/// The upstream's ID of the watched object: `src_…`, `pi_…`.
package struct SourceID: Hashable, Sendable, CustomStringConvertible {
    /// The ID: 1–255 of `A–Z a–z 0–9 _ - .`.
    ///
    /// It is not a secret. Stripe promises at most 255 characters.
    package let description: String

    /// Checks and wraps an ID from outside.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(text, field: "source", lengthMax: 255)
    }

    /// Wraps an ID that this system wrote.
    package init(unchecked text: String) {
        description = text
    }
}
