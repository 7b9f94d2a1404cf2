package import PollerIdentity

/// A status in the upstream's words: `pending`, `chargeable`, `Awaiting Payment`, or a future one.
///
/// Case is kept but ignored: two statuses that differ only in case are equal, as in the upstreams' SDKs.
package struct SourceStatus: Hashable, Sendable, CustomStringConvertible {
    /// The status: 1–64 printable Unicode scalars, with single spaces and none at the ends.
    package let description: String

    /// The maximum length, longer than any known status; at most four bytes per scalar.
    private static let lengthMax = 64

    /// Checks and wraps a status from outside.
    package init(_ text: String) throws(InvalidInput) {
        // Most statuses need no change and are one byte a character.
        if 1...Self.lengthMax ~= text.utf8.count, text.utf8.allSatisfy(IdentifierSyntax.isAllowed) {
            description = text
            return
        }
        let trimmed = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let length = trimmed.unicodeScalars.count
        guard length > 0 else { throw InvalidInput("status", "must not be empty") }
        guard length <= Self.lengthMax else {
            throw InvalidInput(
                "status",
                "has \(length) characters; at most \(Self.lengthMax) are allowed"
            )
        }
        guard trimmed.unicodeScalars.allSatisfy(Self.isPrintable) else {
            throw InvalidInput("status", "has a control character")
        }
        description = trimmed
    }

    /// Wraps a status that this system wrote.
    package init(unchecked text: String) {
        description = text
    }

    package static func == (one: SourceStatus, other: SourceStatus) -> Bool {
        one.description == other.description || one.caseless == other.caseless
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(caseless)
    }

    private var caseless: String { description.lowercased() }

    /// Whether a scalar is printable.
    ///
    /// Control characters and explicit bidirectional formatting (Unicode Standard Annex 9) are not, because they
    /// control a terminal or reorder the text around them.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x202A...0x202E, 0x2066...0x2069: false
        default: scalar.properties.generalCategory != .control
        }
    }
}

/// The progress of a status towards its end.
package enum StatusRank: Int, Hashable, Sendable, Comparable {
    /// The customer or the bank still has to act.
    case pending
    /// The customer has acted, and an action of the shop follows: charge a source, capture an intent.
    case leftPending
    /// No further change is expected, although one is possible, such as for a chargeable reusable source.
    case steady
    /// The status cannot change any more.
    case final

    package static func < (lhs: StatusRank, rhs: StatusRank) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension SourceStatus {
    /// The customer has not acted yet, or the bank has not answered.
    package static let pending = SourceStatus(unchecked: "pending")
    /// The customer has authorised the source, which may be charged.
    package static let chargeable = SourceStatus(unchecked: "chargeable")
    /// The source was charged and does not change any more.
    package static let consumed = SourceStatus(unchecked: "consumed")
    /// A bank works on the intent, possibly for days.
    package static let processing = SourceStatus(unchecked: "processing")
    /// The intent's money is held until the shop captures it.
    package static let requiresCapture = SourceStatus(unchecked: "requires_capture")

    /// Whether an intent waits for its payer, or for the shop's page to send them.
    package var awaitsPayer: Bool {
        [
            "requires_payment_method", "requires_confirmation", "requires_action",
            "requires_source", "requires_source_action",
        ].contains(description)
    }
}
