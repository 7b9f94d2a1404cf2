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
    init?(endpoint: some StringProtocol) {
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

/// The account at the upstream whose credentials a poll uses: `acct_…`, or a name of ours.
package struct AccountID: Hashable, Sendable, CustomStringConvertible {
    /// The account of a system that has just one.
    package static let main = AccountID(unchecked: "default")

    /// 1–64 of `A–Z a–z 0–9 _ - .`; 64 keeps a watch's Redis hash a listpack.
    package let description: String

    /// Checks and wraps a name from outside.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(
            text,
            field: "account",
            lengthMax: 64,
            as: .name
        )
    }

    /// Wraps a name that this system wrote itself.
    package init(unchecked text: String) {
        description = text
    }
}

/// A status as the upstream names it: `pending`, `chargeable`, `Awaiting Payment`, or one that did not exist when this
/// was written.
///
/// Case is kept, and makes no difference: two statuses that differ by it alone are equal, as in the upstreams' SDKs.
package struct SourceStatus: Hashable, Sendable, CustomStringConvertible {
    /// 1–64 printable characters (Unicode scalars), with one blank for many and none at the ends.
    package let description: String

    /// Longer than any status that we have seen; four bytes each at most.
    private static let lengthMax = 64

    /// Checks and wraps a status from outside.
    package init(_ text: String) throws(InvalidInput) {
        // Nearly all have nothing to be changed.
        let trimmed =
            text.utf8.allSatisfy(IdentifierSyntax.isAllowed)
            ? text : text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let length = trimmed.unicodeScalars.count
        guard length > 0 else { throw InvalidInput(field: "status", message: "must not be empty") }
        guard length <= Self.lengthMax else {
            throw InvalidInput(
                field: "status",
                message: "has \(length) characters; at most \(Self.lengthMax) are allowed"
            )
        }
        guard trimmed.unicodeScalars.allSatisfy(Self.isPrintable) else {
            throw InvalidInput(field: "status", message: "has a control character")
        }
        description = trimmed
    }

    /// Wraps a status that this system wrote itself.
    package init(unchecked text: String) {
        description = text
    }

    /// How it ends the type of an event: `awaiting_payment` for `Awaiting Payment`.
    ///
    /// Endpoints match types, and people write them into files and commands: so they have `a–z 0–9 _ - .` alone. A
    /// status without any of these is `other`; the event has the status itself, too.
    package var typeName: String {
        let plain = caseless
        if plain.utf8.allSatisfy(IdentifierSyntax.isAllowed) { return plain }
        var name = ""
        for scalar in SearchText.folded(plain).unicodeScalars {
            if scalar.isASCII, IdentifierSyntax.isAllowed(UInt8(ascii: scalar)) {
                name.unicodeScalars.append(scalar)
            } else if !name.isEmpty, !name.hasSuffix("_") {
                name.append("_")
            }
        }
        while name.hasSuffix("_") { name.removeLast() }
        return name.isEmpty ? "other" : name
    }

    package static func == (one: SourceStatus, other: SourceStatus) -> Bool {
        one.description == other.description || one.caseless == other.caseless
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(caseless)
    }

    private var caseless: String { description.lowercased() }

    /// Not what steers a terminal, or turns the text around it (Unicode Standard Annex 9, explicit formatting).
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x202A...0x202E, 0x2066...0x2069: false
        default: scalar.properties.generalCategory != .control
        }
    }
}

/// How near to its end a status is.
package enum StatusRank: Int, Hashable, Sendable, Comparable {
    /// The customer, or the bank, still has something to do.
    case pending
    /// That is done, and more will follow: a source to be charged, an intent to be captured.
    case leftPending
    /// Nothing more is to be expected, though it might come: a reusable source that is chargeable.
    case steady
    /// It cannot change any more.
    case final

    package static func < (lhs: StatusRank, rhs: StatusRank) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}
