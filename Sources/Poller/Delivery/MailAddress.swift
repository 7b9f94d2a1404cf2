/// One mail address that can stand in an SMTP command: `local@domain`, checked strictly.
///
/// libcurl puts addresses on the wire as they are, and a line break in one is a second command
/// (tried with 7.88). So only the dot-string form of RFC 5321 §4.1.2 passes; quoted local parts
/// and address literals, which hardly anybody has, do not.
package struct MailAddress: Hashable, Sendable, CustomStringConvertible {
    /// `local@domain`.
    package let description: String
    /// The part after the `@`, lower case.
    package let domain: String

    /// What is the same for every spelling: hosts ignore case, and so does nearly every mailbox.
    package var folded: String { description.lowercased() }

    /// Checks an address.
    package init(_ text: some StringProtocol, field: String = "mail") throws(InvalidInput) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= 254, let local = parts.first,
            let host = parts.last, Self.isLocalPart(local), Self.isDomain(host)
        else {
            throw InvalidInput(
                field: field,
                message: "is not one plain mail address: write name@host"
            )
        }
        description = String(text)
        domain = host.lowercased()
    }

    /// Takes the address out of a `mailto:` URL, percent-encoding undone before the check.
    package init(_ url: NotifyURL) throws(InvalidInput) {
        let rest = url.description.dropFirst("mailto:".utf8.count)
        var bytes: [UInt8] = []
        var position = rest.utf8.startIndex
        while position < rest.utf8.endIndex {
            let byte = rest.utf8[position]
            position = rest.utf8.index(after: position)
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let end = rest.utf8.index(position, offsetBy: 2, limitedBy: rest.utf8.endIndex),
                let decoded = UInt8(String(rest[position..<end]), radix: 16)
            else {
                throw InvalidInput(field: "mail", message: "has a broken percent-encoding")
            }
            bytes.append(decoded)
            position = end
        }
        try self.init(String(decoding: bytes, as: UTF8.self))
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
            && dotsSeparate(text) && !text.hasPrefix("-")
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
