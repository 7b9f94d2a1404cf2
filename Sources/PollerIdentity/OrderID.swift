import Foundation

/// A shop's ID for the order that a customer pays, possibly in several attempts: `A77`, `#1001`, `2026/000123`, `№ 5`.
///
/// It is given with a watch and is part of each of its events, but is not shown to customers. It names nothing at the
/// upstream. Watches of one account with the same order are attempts to pay the same thing.
///
/// *Shape*: 1–255 printable characters (Unicode scalars) of any script, no space at either end, and neither `.` nor
/// `..`, which clients remove from a path. It is kept in Unicode's composed form (NFC), so that a name typed on another
/// system is equal. In a path it is percent-encoded, including its slashes. *Limits*: up to 64 bytes a watch's hash
/// keeps Redis' small encoding; beyond that it takes about a kilobyte more.
package struct OrderID: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length in characters, the same as for a Stripe ID.
    package static let lengthMax = 255

    package let description: String

    /// Checks and wraps a name from outside.
    package init(_ text: String) throws(InvalidInput) {
        try IdentifierSyntax.refuseSecret(text, field: "order", as: .name)
        let scalars = text.unicodeScalars
        guard let first = scalars.first, let last = scalars.last else {
            throw InvalidInput("order", "must not be empty")
        }
        guard scalars.count <= Self.lengthMax else {
            throw InvalidInput(
                "order",
                "has \(scalars.count) characters; at most \(Self.lengthMax) are allowed"
            )
        }
        if let scalar = scalars.first(where: Self.isInvisible) {
            let code = String(scalar.value, radix: 16, uppercase: true)
            throw InvalidInput(
                "order",
                "has a character that is not printed: U+\(code); leave it out"
            )
        }
        guard !Self.isSpace(first), !Self.isSpace(last) else {
            throw InvalidInput("order", "begins or ends with a space; remove it")
        }
        guard text != ".", text != ".." else {
            throw InvalidInput(
                "order",
                "is \(text), which cannot be in a path; write a longer name"
            )
        }
        description = text.precomposedStringWithCanonicalMapping
    }

    /// Wraps a name that this system wrote.
    package init(unchecked text: String) {
        description = text
    }

    /// Whether a scalar is invisible: controls, line ends, bidirectional marks and zero-width characters.
    ///
    /// Joiners (U+200C, U+200D) are part of words in some scripts. `OrderNames.invisible` is the same rule as a
    /// pattern.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200B, 0x200E...0x200F, 0x2028...0x202E,
            0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB:
            true
        default: false
        }
    }

    /// Whether a scalar is a space of any script (general category Zs).
    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .spaceSeparator
    }

    /// Compares by bytes, like the stores.
    package static func == (one: OrderID, other: OrderID) -> Bool {
        one.description.utf8.elementsEqual(other.description.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in description.utf8 { hasher.combine(byte) }
    }
}
