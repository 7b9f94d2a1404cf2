package import PollerIdentity

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
