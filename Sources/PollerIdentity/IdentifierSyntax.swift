import PollerWire

/// The common rule for every ID from outside that becomes part of a key, a path or a log line.
package enum IdentifierSyntax {
    /// The use of a text, which determines the check for secrets.
    package enum Use {
        /// An ID of the upstream: a text that looks like a secret is rejected (`SecretShape`).
        case id
        /// A name that a person chose: only an obvious key is rejected.
        case name
        /// A term of the upstream, such as a status.
        case word
    }

    /// Returns `text` if it is 1–`lengthMax` characters of `A–Z a–z 0–9 _ - .`, and not a secret.
    ///
    /// All other characters are rejected: no slash (paths), no brace (hash tags), no control character (logs), no `|`
    /// (packed records).
    package static func check(
        _ text: String,
        field: String,
        lengthMax: Int,
        as use: Use = .id
    ) throws(InvalidInput) -> String {
        try refuseSecret(text, field: field, as: use)
        let length = text.utf8.count
        guard length > 0 else { throw InvalidInput(field, "must not be empty") }
        guard length <= lengthMax else {
            throw InvalidInput(field, "is \(length) bytes long; at most \(lengthMax) are allowed")
        }
        guard text.utf8.allSatisfy(isAllowed) else {
            throw InvalidInput(field, "may contain only letters, digits, '_', '-' and '.'")
        }
        return text
    }

    /// Rejects a secret, with advice that does not contain it.
    package static func refuseSecret(
        _ text: String,
        field: String,
        as use: Use = .id
    ) throws(InvalidInput) {
        guard use != .word, let secret = SecretShape(text, isName: use == .name) else { return }
        throw InvalidInput(field, secret.advice)
    }

    /// Whether a scalar of a name is visible: letters, digits, signs and spaces.
    ///
    /// Invisible scalars make two names look the same, reverse the text direction, or look different on each machine.
    package static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }

    /// Whether a byte may be part of an ID or a host name: `A–Z a–z 0–9 _ - .`.
    package static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}

/// A value from outside that breaks a rule of its type.
///
/// It is shown to users unchanged, so `message` contains the problem and the remedy.
package struct InvalidInput: Error, Hashable, Sendable, CustomStringConvertible {
    /// The position of the value, such as `source` or `notify[2]`.
    package let field: String
    /// The problem and the remedy, in one sentence.
    package let message: String

    package init(_ field: String, _ message: String) {
        self.field = field
        self.message = message
    }

    package var description: String { "\(field): \(message)" }
}
