/// A single email address that is safe in an SMTP command: `local@domain`, strictly checked.
///
/// libcurl sends addresses unchanged, and a line break in one is a second command (tested with 7.88). So only the
/// dot-string form of RFC 5321 §4.1.2 is accepted; quoted local parts and address literals, which are very rare, are
/// not. Letters beyond ASCII are not accepted either: they need a relay with SMTPUTF8 (RFC 6531), and a domain has an
/// ASCII form (RFC 5890).
package struct MailAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address, `local@domain`.
    package let description: String
    /// The part after the `@`, in lower case.
    package let domain: String

    /// The form for comparisons: hosts ignore case, and so does nearly every mailbox.
    package var folded: String { description.lowercased() }

    /// Checks an address.
    package init(_ text: some StringProtocol, field: String = "mail") throws(InvalidInput) {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw InvalidInput(
                field,
                "has characters beyond ASCII, to which no mail is sent: write the domain as xn--…, and "
                    + "use a name in ASCII"
            )
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= 254, let local = parts.first,
            let host = parts.last, Self.isLocalPart(local), Self.isDomain(host)
        else { throw InvalidInput(field, "is not one plain mail address: write name@host") }
        description = String(text)
        domain = host.lowercased()
    }

    /// Extracts the address from a `mailto:` URL; percent-encoding is decoded before the check.
    package init(_ url: NotifyURL) throws(InvalidInput) {
        try self.init(mailto: url.description.dropFirst("mailto:".utf8.count), field: "mail")
    }

    /// Parses the part after `mailto:`.
    ///
    /// The decoded address is checked, so that no encoding hides a control character, a space or a second address.
    init(mailto text: Substring, field: String) throws(InvalidInput) {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = [rest.popFirst(), rest.popFirst()].map { digit in
                digit.flatMap { Character(Unicode.Scalar($0)).hexDigitValue }
            }
            // Safe: the array has two elements.
            guard let high = digits[0], let low = digits[1] else {
                throw InvalidInput(field, "has a broken percent-encoding")
            }
            bytes.append(UInt8(truncatingIfNeeded: high << 4 | low))
        }
        try self.init(String(decoding: bytes, as: UTF8.self), field: field)
    }

    private static func isLocalPart(_ text: some StringProtocol) -> Bool {
        let special = Set("!#$%&'*+-/=?^_`{|}~.".utf8)
        return (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { isAlphanumeric($0) || special.contains($0) }
            && dotsSeparate(text)
    }

    private static func isDomain(_ text: some StringProtocol) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            }
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                (1...63).contains(label.utf8.count) && !label.hasPrefix("-")
                    && !label.hasSuffix("-")
            }
    }

    private static func dotsSeparate(_ text: some StringProtocol) -> Bool {
        !text.hasPrefix(".") && !text.hasSuffix(".") && !text.contains("..")
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
