import Foundation
import PollerDeliveries
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerChannels

@Suite("The parts of an email")
struct MailPartsTests {
    @Test(
        "an address that could become a second SMTP command is rejected",
        arguments: [
            "mailto:a%0d%0aRCPT%20TO%3a%3cb%3e@c.d", "mailto:a%00@b.c", "mailto:a%20b@c.d",
            "mailto:%3Ca@b.c", "mailto:a@b%0ac", "mailto:a%zz@b.c", "mailto:.a@b.c",
            "mailto:a..b@c.d", "mailto:a@-b.c", "mailto:a@b..c", "mailto:a%40b@c.d",
        ]
    )
    func badAddresses(url: String) throws {
        #expect(throws: InvalidInput.self) { try NotifyURL(url) }
    }

    @Test("a local relay uses plain text, and any other uses TLS unless the URL turns it off")
    func relays() throws {
        #expect(try SMTPRelay("smtp://127.0.0.1:2525").protection == .none)
        #expect(try SMTPRelay("smtp://[::1]:25").protection == .none)
        #expect(try SMTPRelay("smtp://localhost").port == 25)
        #expect(try SMTPRelay("smtp://mail.example").protection == .startTLS)
        #expect(try SMTPRelay("smtp://mail.example:25?tls=off").protection == .none)
        #expect(try SMTPRelay("smtps://mail.example").port == 465)
        let full = try SMTPRelay("smtp://us%40er:p%3Aw@mail.example")
        #expect(full.user == "us@er" && full.password == "p:w" && full.port == 587)
        #expect(full.description == "smtp://mail.example:587")
    }

    @Test(
        "an invalid relay URL is rejected without quoting it",
        arguments: [
            "", "mail.example", "http://x", "smtp://", "smtp://u@h", "smtp://u:secretpw@h:99999",
            "smtp://u:secretpw@h ost", "smtps://h?tls=off", "smtp://h?x=1", "smtp://u:p%0a@h",
        ]
    )
    func badRelays(text: String) {
        do {
            _ = try SMTPRelay(text)
            Issue.record("accepted \(text)")
        } catch {
            #expect(!"\(error)".contains("secretpw"))
        }
    }

    @Test("quoted-printable keeps lines short and ends them with CRLF")
    func quotedPrintable() {
        #expect(QuotedPrintable.encode("a\nb\r\nc\rd") == "a\r\nb\r\nc\r\nd")
        #expect(QuotedPrintable.encode("ü=") == "=C3=BC=3D")
        #expect(QuotedPrintable.encode("x \ny") == "x=20\r\ny")
        let long = QuotedPrintable.encode(String(repeating: "é", count: 500))
        #expect(long.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test("a header cannot be split in two")
    func headers() throws {
        #expect(!MailHeader.encode("a\r\nBcc: x@y").contains("\n"))
        let long = MailHeader.encode(String(repeating: "ü", count: 100))
        let words = long.components(separatedBy: "\r\n ")
        #expect(words.count > 1 && words.allSatisfy { $0.utf8.count <= 75 })
        let sender = try MailSender("\"A\r\nBcc: x\" <a@b.c>")
        #expect(!MailHeader.mailbox(sender).contains("\n"))
    }

    @Test("a name with special characters is encoded as a whole, at any length")
    func names() throws {
        let address = try MailAddress("pay@shop.example")
        let plain = MailSender(name: "Shop GmbH", address: address)
        #expect(MailHeader.mailbox(plain) == "Shop GmbH <pay@shop.example>")
        let long = MailHeader.mailbox(
            MailSender(name: String(repeating: "ü", count: 80), address: address)
        )
        #expect(long.components(separatedBy: "\r\n ").allSatisfy { $0.utf8.count <= 98 })
        let specials = MailHeader.mailbox(MailSender(name: "A, \"B\" <c@d>", address: address))
        #expect(specials.hasPrefix("=?utf-8?B?") && specials.hasSuffix("?= <pay@shop.example>"))
    }

    /// A reply that rejects the recipient.
    private func refusal(_ line: String, account: String = "RCPT failed: 550") -> SMTPReply {
        SMTPReply(
            // CURLE_SEND_ERROR
            code: 55,
            status: Int(line.prefix(3)) ?? 0,
            isBodySent: false,
            message: "Failed sending data to the peer",
            account: account,
            line: line + "\r\n"
        )
    }

    @Test(
        "an explicit reply is evidence of a missing mailbox",
        arguments: [
            "550 5.1.1 no such mailbox", "550 no such user", "550 5.1.10 Recipient not found",
            "550 5.1.6 has moved", "556 5.1.10 the domain takes no mail",
            "550 sorry, no mailbox here by that name (#5.1.1)",
            "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n"
                + "550 5.1.1 double-checking the recipient's email address for typos",
            "550 5.1.1 <a@b.c>: Recipient address rejected: User unknown in relay recipient table",
            "550 <a@b.c>: User unknown in virtual mailbox table", "553 mailbox does not exist",
            "554 5.5.0 unknown recipient", "550 5.1.0 user not found", "551 No such user here",
        ]
    )
    func missing(line: String) {
        #expect(refusal(line).finding == .missingMailbox)
        #expect(refusal(line).result.outcome == .rejected)
        #expect(refusal(line, account: "MAIL failed: 550").finding != .missingMailbox)
    }

    @Test(
        "a refusal of the recipient without evidence is retried and is no relay trouble",
        arguments: [
            "552 5.2.2 mailbox full", "550 5.2.1 disabled", "550 5.1.2 no such host",
            "550 5.1.3 bad address",
        ]
    )
    func aboutTheRecipient(line: String) {
        #expect(refusal(line).finding == .nothing)
        #expect(refusal(line).result.outcome == .failed)
    }

    @Test("any other reply is no evidence of a missing mailbox")
    func otherRefusals() {
        let later = refusal("451 4.3.0 later", account: "RCPT failed: 451")
        #expect(later.finding == .nothing && later.result.kind == .deferred)
        #expect(refusal("", account: "RCPT failed: 550").finding == .nothing)
        let sender = refusal("550 5.1.1 no such sender", account: "MAIL failed: 550")
        #expect(sender.finding == .relayFailure("550 5.1.1 no such sender"))
        #expect(sender.result.excerpt == "550 5.1.1 no such sender", "without its line end")
        let sent = SMTPReply(code: 0, status: 250, isBodySent: true, message: "")
        #expect(sent.finding == .accepted && sent.result.outcome == .delivered)
    }

    @Test(
        "a refusal that may concern the sender or relay suppresses no one and is retried",
        arguments: [
            "550 relay not permitted", "550 Relaying denied", "550 Administrative prohibition",
            "550 rejected for policy reasons", "550 blocked using a list of senders",
            "550 Please turn on SMTP Authentication", "550 this looks like spam",
            "550 5.7.1 go away", "550 5.7.54 Unable to relay", "550 5.1.8 unknown sender domain",
            "550 5.1.7 bad sender", "550 5.1.0 address rejected", "550 Sender verify failed",
            "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
            "550-Relaying is not for you.\r\n550 See https://relay.example/",
            "550-Your address is blocked.\r\n550 See https://x.example/",
            "550 You have been greylisted", "550 exceeded the max emails per hour",
            "553 your address is in an RBL", "554 no PTR record", "551 sending quota exceeded",
            "550 must issue a STARTTLS command first", "554 go away",
            "553 mailbox name not allowed",
            "550 Requested action not taken: mailbox unavailable", "551 user not local",
            "550 your domain does not exist", "550 the reverse DNS of 192.0.2.1 does not exist",
            "550 5.1.1 greylisted, try again later",
            "550 5.1.1 user unknown for now: too many mails",
            "550 sender's user unknown", "550",
            "550 5.4.1 Recipient address rejected: Access denied",
        ]
    )
    func aboutUs(line: String) {
        let reply = refusal(line)
        guard case .relayFailure(let answer) = reply.finding else {
            Issue.record("\(reply.finding)")
            return
        }
        #expect(answer.hasPrefix(line.prefix(3)))
        #expect(reply.result.outcome == .failed && reply.result.kind == .refused)
    }

    @Test("a relay's refusal is trouble for an hour, and for a day without an accepted email")
    func trouble() {
        let start = Samples.start
        var trouble = RelayFailures(nil, refusing: "550 first\nof two lines", at: start)
        #expect(trouble.answer == "550 first of two lines" && trouble.count == 1)
        trouble = RelayFailures(trouble, refusing: "550 next", at: start + .seconds(7200))
        #expect(trouble.count == 2 && trouble.since == start)
        #expect(trouble.message.contains("2 mails") && trouble.message.contains("550 next"))
        func accepting(_ at: Timestamp) -> RelayFailures {
            RelayFailures(
                answer: trouble.answer,
                count: trouble.count,
                since: trouble.since,
                last: trouble.last,
                accepted: at
            )
        }
        let later = start + .seconds(4 * 3600)
        #expect(trouble.needsAttention(at: later))
        #expect(accepting(start + .seconds(7000)).needsAttention(at: later), "accepted before")
        #expect(accepting(start + .seconds(7300)).needsAttention(at: start + .seconds(7400)))
        #expect(!accepting(start + .seconds(7300)).needsAttention(at: later))
        #expect(!trouble.needsAttention(at: start + .seconds(2 * 86_400)))
        // A later refusal starts a new trouble.
        let another = RelayFailures(
            accepting(start + .seconds(7300)),
            refusing: "550 again",
            at: later
        )
        #expect(another.count == 1 && another.since == later)
    }

    @Test("a password that a relay repeats is redacted, plain or encoded")
    func login() throws {
        let relay = try SMTPRelay("smtp://shop:canary-pass@localhost")
        for echoed in ["canary-pass", "Y2FuYXJ5LXBhc3M=", "AHNob3AAY2FuYXJ5LXBhc3M="] {
            let reply = SMTPReply(
                // CURLE_LOGIN_DENIED
                code: 67,
                status: 535,
                isBodySent: false,
                message: "Login denied",
                line: "535 5.7.8 bad credentials: \(echoed)",
                hidden: relay.credentialRedaction
            )
            #expect(reply.result.excerpt == "535 5.7.8 bad credentials: (redacted)")
            #expect(reply.finding == .relayFailure("535 5.7.8 bad credentials: (redacted)"))
        }
    }

    @Test("customers get emails for authorised, failed and closed payments, not for new ones")
    func wanted() throws {
        let channel = EmailChannel(
            relay: try SMTPRelay("smtp://localhost"),
            sender: try MailSender("a@b.c"),
            wallClock: { Samples.start }
        )
        #expect(!channel.supports(Samples.event("src_1", "pending", previous: nil)))
        #expect(!channel.supports(Samples.event("pi_1", "requires_payment_method", previous: nil)))
        let retried = Samples.event("pi_1", "requires_payment_method", previous: "processing")
        #expect(channel.supports(retried))
        #expect(channel.supports(Samples.event("src_1", "chargeable")))
        #expect(channel.supports(Samples.event("src_1", "pending", final: true, closed: .expired)))
        #expect(channel.supports(Samples.event("src_1", "consumed", final: true)))
    }
}
