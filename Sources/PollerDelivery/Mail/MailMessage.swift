import Poller

/// One mail about one event to one address, the same bytes for every attempt.
///
/// `Message-ID` is `<event.endpoint@domain>`, so a mail sent twice (a relay that accepted it but
/// whose answer was lost) is one mail to whoever looks; `References` names a thread for each
/// (source, endpoint), so mail programs show a payment's mails together. `Date` is the moment the
/// change was seen. With a link to stop such mails, `List-Unsubscribe` and `List-Unsubscribe-Post`
/// let a mail program do it with one click (RFC 8058); the relay signs both headers with DKIM.
struct MailMessage: Hashable, Sendable {
    let recipient: MailAddress
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
        let domain = sender.address.domain
        let thread = "<thread.\(event.key.id).\(endpoint)@\(domain)>"
        // A quoted-printable body never holds "=_", so never the boundary.
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
