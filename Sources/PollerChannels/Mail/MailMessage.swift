import Foundation
import PollerIdentity
import PollerWatches
import SafeNumbers

/// A mail about one event to one address, with the same bytes in every attempt.
///
/// `Message-ID` is `<event.endpoint@domain>`. If the relay's response was lost and the mail is sent twice, mail
/// programs show it once. `References` names a thread for each (source, endpoint), so mail programs show a payment's
/// mails together. `Date` is the time at which the change was observed. With an unsubscribe link, `List-Unsubscribe`
/// and `List-Unsubscribe-Post` let a mail program unsubscribe with one click (RFC 8058). The relay signs both headers
/// with DKIM. `X-Poller-Source` has the ID of the source for troubleshooting, because the mail does not show it.
struct MailMessage: Hashable, Sendable {
    let recipient: MailAddress
    /// The sender, to which the relay returns undeliverable mail.
    let sender: MailAddress
    /// Headers and body with CRLF line ends, every line at most 998 bytes (RFC 5322 §2.1.1).
    let text: String

    /// Composes the mail.
    init(
        _ event: Event,
        _ content: MailContent,
        to recipient: MailAddress,
        from sender: MailSender,
        endpoint: EndpointID,
        replyTo: MailAddress? = nil,
        unsubscribe: String? = nil
    ) {
        self.recipient = recipient
        self.sender = sender.address
        let domain = sender.address.domain
        let thread = "<thread.\(event.key.id).\(endpoint)@\(domain)>"
        // A quoted-printable body never contains "=_", so it never contains the boundary.
        let boundary = "=_\(event.id)"
        var headers = [
            "Date: \(Self.date(event.polledAt))",
            "From: \(MailHeader.mailbox(sender))",
            "To: \(recipient)",
            "Subject: \(MailHeader.encode(content.subject))",
            "Message-ID: <\(event.id).\(endpoint)@\(domain)>",
            "In-Reply-To: \(thread)",
            "References: \(thread)",
            "Auto-Submitted: auto-generated",
            "X-Poller-Source: \(event.key.source)",
        ]
        if let replyTo { headers.append("Reply-To: \(replyTo)") }
        if let unsubscribe {
            headers.append("List-Unsubscribe: <\(unsubscribe)>")
            headers.append("List-Unsubscribe-Post: List-Unsubscribe=One-Click")
        }
        headers += [
            "MIME-Version: 1.0",
            "Content-Type: multipart/alternative; boundary=\"\(boundary)\"",
        ]
        text =
            headers.joined(separator: "\r\n") + "\r\n\r\n"
            + Self.part("text/plain", content.text, boundary)
            + Self.part("text/html", content.html, boundary)
            + "--\(boundary)--\r\n"
    }

    private static func part(_ type: String, _ body: String, _ boundary: String) -> String {
        """
        --\(boundary)\r
        Content-Type: \(type); charset=utf-8\r
        Content-Transfer-Encoding: quoted-printable\r
        \r
        \(QuotedPrintable.encode(body))\r

        """
    }

    /// Returns a date in UTC as in RFC 5322 §3.3: `Sun, 06 Nov 1994 08:49:37 +0000`.
    ///
    /// It does not use a formatter, which would depend on a locale and a time zone.
    static func date(_ time: Timestamp) -> String {
        let text = time.description
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        // 1970-01-01 was a Thursday.
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let day = Int(clamping: (time.ms / 86_400_000) % 7)
        // The month in a timestamp's description is 01 to 12.
        let month = (Int(decimal: text.dropFirst(5).prefix(2)) ?? 1) - 1
        return "\(days[(day + 7) % 7]), \(text.dropFirst(8).prefix(2)) \(months[month]) "
            + "\(text.prefix(4)) \(text.dropFirst(11).prefix(8)) +0000"
    }
}

/// Encodes text for mail headers.
enum MailHeader {
    /// The maximum payload of an encoded word.
    ///
    /// An encoded word has at most 75 characters (RFC 2047 §2): 12 for the frame and 60 of Base64.
    private static let wordBytesMax = 45

    /// Returns short printable ASCII unchanged, and other text as folded RFC 2047 encoded words.
    ///
    /// Control characters are removed, because a line break would start another header.
    static func encode(_ text: String) -> String {
        let clean = clean(text)
        let isPlain = clean.utf8.allSatisfy { $0 < 0x7F } && clean.utf8.count <= 60
        guard !isPlain || clean.contains("=?") else { return clean }
        return encodedWords(clean)
    }

    /// Returns `Name <address>`, or only the address if there is no name.
    static func mailbox(_ sender: MailSender) -> String {
        let name = clean(sender.name)
        guard !name.isEmpty else { return sender.address.description }
        // A name that is not an atom (RFC 5322 §3.2.3) is encoded, so quoting is not necessary.
        let isAtom =
            name.utf8.count <= 60
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        return "\(isAtom ? name : encodedWords(name)) <\(sender.address)>"
    }

    private static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
            )
        )
    }

    private static func encodedWords(_ text: String) -> String {
        var words: [[UInt8]] = [[]]
        // The text is split by scalars. A character with many accents may exceed a word, and part of a scalar is not
        // valid text.
        for scalar in text.unicodeScalars {
            let bytes = Array(scalar.utf8)
            if words[words.count - 1].count + bytes.count > wordBytesMax { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }
}

/// Encodes text for mail bodies (RFC 2045 §6.7, RFC 2047).
///
/// The result has 7-bit lines of at most 76 characters, which every relay accepts. Text that is mostly ASCII stays
/// readable in the source of a mail.
enum QuotedPrintable {
    /// The length of the longest encoded line, including its soft line break (RFC 2045 §6.7).
    private static let lineMax = 76
    private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Encodes a body; every kind of line end becomes CRLF, and no line is longer than 76.
    static func encode(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count + bytes.count / 8)
        var length = 0
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : lf
            index += 1
            if byte == cr || byte == lf {
                encoded += [cr, lf]
                length = 0
                if byte == cr, next == lf, index < bytes.count { index += 1 }
                continue
            }
            let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain =
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
                || isBlank && next != cr && next != lf
            let size = isPlain ? 1 : 3
            if length + size > lineMax - 1 {
                encoded += [UInt8(ascii: "="), cr, lf]
                length = 0
            }
            if isPlain {
                encoded.append(byte)
            } else {
                encoded += [
                    UInt8(ascii: "="), digits[Int(truncatingIfNeeded: byte >> 4)],
                    digits[Int(truncatingIfNeeded: byte & 15)],
                ]
            }
            length += size
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
