import Crypto
import SafeNumbers

/// The URL of a recipient: `https://…`, `http://…` (if the operator allows it), `mailto:name@host`, or
/// `redis+stream:NAME` for services that read this Redis.
///
/// `redis+stream:ACCOUNT/NAME` is a stream of one account.
package struct NotifyURL: Hashable, Sendable, CustomStringConvertible {
    /// The URL as given; at most 2,048 printable ASCII characters, without spaces and backslashes.
    package let description: String
    /// The scheme in lower case: `https`, `http`, `mailto` or `redis+stream`.
    package let scheme: String

    /// Checks the form; whether the address is allowed is decided at each delivery.
    package init(_ text: String, field: String = "notify") throws(InvalidInput) {
        if let scheme = Self.plainScheme(of: text) {
            self.scheme = scheme
            description = text
            return
        }
        guard text.utf8.count <= 2048 else {
            throw InvalidInput(field, "is longer than 2,048 characters")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw InvalidInput(
                field,
                "may contain only printable ASCII without spaces; percent-encode the rest"
            )
        }
        guard let colon = text.firstIndex(of: ":") else { throw Self.unknownScheme(field) }
        scheme = text[..<colon].lowercased()
        let rest = text[text.index(after: colon)...]
        switch scheme {
        case "http", "https":
            let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard rest.hasPrefix("//"), !authority.isEmpty, !authority.hasPrefix(":") else {
                throw InvalidInput(field, "has no host: write https://host/path")
            }
            guard !authority.contains("@") else {
                throw InvalidInput(
                    field,
                    "must not carry a user or password; the webhook signature is the proof"
                )
            }
            // After the brackets of an IPv6 address.
            let tail = authority.suffix(from: authority.lastIndex(of: "]") ?? authority.startIndex)
            if let colon = tail.lastIndex(of: ":"),
                !(1...65_535).contains(Int(decimal: tail[tail.index(after: colon)...]) ?? 0)
            {
                throw InvalidInput(field, "has a port that is not 1 to 65535")
            }
        case "mailto":
            let parts = rest.split(separator: "@", omittingEmptySubsequences: false)
            let forbidden: Set<Character> = ["<", ">", ",", ";", ":", "\"", "?", "(", ")"]
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
                !rest.contains(where: forbidden.contains), rest.utf8.count <= 254
            else {
                throw InvalidInput(field, "is not one plain mail address: write mailto:name@host")
            }
            _ = try MailAddress(mailto: rest, field: field)
        case "redis+stream":
            // NAME, or ACCOUNT/NAME for a stream of one account.
            let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
            let isName = parts.allSatisfy { part in
                (try? IdentifierSyntax.check(String(part), field: field, lengthMax: 64, as: .name))
                    != nil
            }
            guard isName, parts.count <= 2 else {
                throw InvalidInput(
                    field,
                    "is not redis+stream:NAME with 1 to 64 letters, digits, '_', '-' or '.', "
                        + "nor redis+stream:ACCOUNT/NAME"
                )
            }
        default: throw Self.unknownScheme(field)
        }
        description = text
    }

    /// Whether it receives signed HTTP requests.
    package var isWebhook: Bool { scheme == "https" || scheme == "http" }

    /// The host, or a stream's name, for logs, because paths and email addresses may be personal data.
    package var host: Substring {
        // Bytes, because the URL is ASCII and each attempt reads the host.
        let rest = description.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        if scheme == "redis+stream" { return Substring(rest) }
        if scheme == "mailto" {
            return Substring(rest.drop { $0 != UInt8(ascii: "@") }.dropFirst())
        }
        return Substring(rest.dropFirst(2).prefix { !Self.endsAuthority($0) })
    }

    /// The URL for long-term storage: for a webhook the host and twelve digits that identify it, because the path or
    /// the query may contain a secret of the recipient.
    package var shortened: String {
        let path = description.dropFirst(scheme.count + 3 + host.count)
        guard isWebhook, !path.isEmpty, path != "/" else { return description }
        let digest = SHA256.hash(data: Array(description.utf8)).prefix(6)
        let digits = digest.map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\(scheme)://\(host)/… (sha256 \(digits.joined()))"
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// Returns the scheme of a valid webhook URL in its usual form; `nil` for any other text.
    ///
    /// The usual form has a scheme in lower case, a host of letters, digits, dots and hyphens, and a port that does not
    /// begin with 0. Every read of a delivery parses its URL, so this is one pass over the bytes.
    private static func plainScheme(of text: String) -> String? {
        let bytes = text.utf8
        guard bytes.count <= 2048 else { return nil }
        let scheme: String
        if text.hasPrefix("https://") {
            scheme = "https"
        } else if text.hasPrefix("http://") {
            scheme = "http"
        } else {
            return nil
        }
        var rest = bytes.dropFirst(scheme.utf8.count + 3)
        let host = rest.prefix { byte in
            byte | 0x20 &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "-")
        }
        guard !host.isEmpty else { return nil }
        rest = rest[host.endIndex...]
        if rest.first == UInt8(ascii: ":") {
            let digits = rest.dropFirst().prefix { $0 &- 0x30 < 10 }
            // Five digits do not overflow.
            let port = digits.prefix(6).reduce(0) { $0 * 10 + Int(clamping: $1 &- 0x30) }
            guard digits.first != UInt8(ascii: "0"), digits.count <= 5, (1...65_535).contains(port)
            else { return nil }
            rest = rest[digits.endIndex...]
        }
        if let next = rest.first, !endsAuthority(next) { return nil }
        guard rest.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            return nil
        }
        return scheme
    }

    private static func unknownScheme(_ field: String) -> InvalidInput {
        InvalidInput(field, "must begin with https://, http://, mailto: or redis+stream:")
    }
}
