import Poller

/// One mail about one event to one address, the same bytes for every attempt.
///
/// `Message-ID` is `<event.endpoint@domain>`, so a mail sent twice (a relay that accepted it but
/// whose answer was lost) is one mail to whoever looks; `References` names a thread for each
/// (source, endpoint), so mail programs show a payment's mails together. `Date` is the moment the
/// change was seen.
struct MailMessage: Hashable, Sendable {
    let recipient: MailAddress
    /// Headers and body with CRLF line ends, every line at most 998 bytes (RFC 5322 §2.1.1).
    let text: String

    /// Composes the mail.
    init(_ event: Event, to recipient: MailAddress, from sender: MailSender, endpoint: EndpointID) {
        self.recipient = recipient
        let wording = MailWording(event)
        let domain = sender.address.domain
        let thread = "<thread.\(event.key.id).\(endpoint)@\(domain)>"
        // A quoted-printable body never holds "=_", so never the boundary.
        let boundary = "=_\(event.id)"
        let headers = [
            "Date: \(Self.date(event.polledAt))",
            "From: \(MailHeader.mailbox(sender))",
            "To: \(recipient)",
            "Subject: \(MailHeader.encode(wording.subject))",
            "Message-ID: <\(event.id).\(endpoint)@\(domain)>",
            "In-Reply-To: \(thread)",
            "References: \(thread)",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: multipart/alternative; boundary=\"\(boundary)\"",
        ]
        text =
            headers.joined(separator: "\r\n") + "\r\n\r\n"
            + Self.part("text/plain", Self.plain(wording, event), boundary)
            + Self.part("text/html", Self.html(wording, event), boundary)
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

    private static func plain(_ wording: MailWording, _ event: Event) -> String {
        """
        \(wording.headline)

        \(wording.sentence)

        Reference: \(event.key.source)
        Status: \(event.status?.description ?? "unknown")
        Time: \(event.polledAt)
        """
    }

    private static func html(_ wording: MailWording, _ event: Event) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head><meta charset="utf-8"><title>\(escape(wording.headline))</title></head>
        <body style="font-family: system-ui, sans-serif; max-width: 36em; margin: 2em auto">
        <h1 style="font-size: 1.4em">\(escape(wording.headline))</h1>
        <p>\(escape(wording.sentence))</p>
        <table style="color: #555; font-size: 0.9em">
        <tr><td>Reference</td><td>\(escape(event.key.source.description))</td></tr>
        <tr><td>Status</td><td>\(escape(event.status?.description ?? "unknown"))</td></tr>
        <tr><td>Time</td><td>\(escape(event.polledAt.description))</td></tr>
        </table>
        </body>
        </html>
        """
    }

    /// Text that cannot become markup, neither as content nor in a quoted attribute.
    static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// RFC 5322 §3.3 in UTC: `Sun, 06 Nov 1994 08:49:37 +0000`.
    static func date(_ time: Timestamp) -> String {
        let text = time.description
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        // 1970-01-01 was a Thursday.
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let day = Int((time.ms / 86_400_000) % 7)
        let month = (Int(text.dropFirst(5).prefix(2)) ?? 1) - 1
        return "\(days[(day + 7) % 7]), \(text.dropFirst(8).prefix(2)) \(months[month]) "
            + "\(text.prefix(4)) \(text.dropFirst(11).prefix(8)) +0000"
    }
}
