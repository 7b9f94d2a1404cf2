import Foundation
import Poller
import PollerTesting
import Testing

@testable import PollerDelivery

@Suite("The parts of a mail")
struct MailPartsTests {
    @Test(
        "an address that could become a second SMTP command is refused",
        arguments: [
            "mailto:a%0d%0aRCPT%20TO%3a%3cb%3e@c.d", "mailto:a%00@b.c", "mailto:a%20b@c.d",
            "mailto:%3Ca@b.c", "mailto:a@b%0ac", "mailto:a%zz@b.c", "mailto:.a@b.c",
            "mailto:a..b@c.d", "mailto:a@-b.c", "mailto:a@b..c", "mailto:a%40b@c.d",
        ]
    )
    func badAddresses(url: String) throws {
        // As an earlier release has recorded it.
        let notify = try NotifyURL(recorded: url)
        #expect(throws: InvalidInput.self) { try MailAddress(notify) }
    }

    @Test("a relay on this machine is plain, every other one speaks TLS unless the URL says off")
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
        "a relay URL with a mistake is refused without being quoted",
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

    @Test("quoted-printable keeps lines short and line ends CRLF")
    func quotedPrintable() {
        #expect(QuotedPrintable.encode("a\nb\r\nc\rd") == "a\r\nb\r\nc\r\nd")
        #expect(QuotedPrintable.encode("ü=") == "=C3=BC=3D")
        #expect(QuotedPrintable.encode("x \ny") == "x=20\r\ny")
        let long = QuotedPrintable.encode(String(repeating: "é", count: 500))
        #expect(long.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test("a header cannot be broken into two")
    func headers() throws {
        #expect(!MailHeader.encode("a\r\nBcc: x@y").contains("\n"))
        let long = MailHeader.encode(String(repeating: "ü", count: 100))
        let words = long.components(separatedBy: "\r\n ")
        #expect(words.count > 1 && words.allSatisfy { $0.utf8.count <= 75 })
        let sender = try MailSender("\"A\r\nBcc: x\" <a@b.c>")
        #expect(!MailHeader.mailbox(sender).contains("\n"))
    }

    @Test("a name that is no atom is encoded whole, however long it is")
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

    @Test("only a mailbox that does not exist is a hard bounce")
    func bounces() {
        func isHard(_ line: String, account: String = "RCPT failed: 550") -> Bool {
            SMTPReply(
                // CURLE_SEND_ERROR
                code: 55,
                status: Int(line.prefix(3)) ?? 0,
                isBodySent: false,
                message: "Failed sending data to the peer",
                account: account,
                line: line
            ).isHardBounce
        }
        #expect(isHard("550 5.1.1 no such mailbox\r\n") && isHard("550 no such user\r\n"))
        #expect(isHard("550 5.2.1 disabled\r\n") && isHard("553 mailbox name not allowed\r\n"))
        #expect(!isHard("550 5.7.1 relaying denied\r\n"), "set up wrong: about us")
        #expect(!isHard("552 5.2.2 mailbox full\r\n") && !isHard("554 go away\r\n"))
        #expect(!isHard("451 4.3.0 later\r\n", account: "RCPT failed: 451"))
        #expect(!isHard("550 5.1.1 no such sender\r\n", account: "MAIL failed: 550"))
        #expect(!isHard("", account: "RCPT failed: 550"))
        #expect(isHard("550 sorry, no mailbox here by that name (#5.1.1)\r\n"))
        #expect(isHard("550-5.1.1 No such account.\r\n550 5.1.1 See https://x.example\r\n"))
    }

    @Test(
        "a refusal that is about us silences no customer",
        arguments: [
            "550 relay not permitted", "550 Relaying denied", "550 Administrative prohibition",
            "550 rejected for policy reasons", "550 blocked using a list of senders",
            "550 Please turn on SMTP Authentication", "550 this looks like spam",
            "550 5.7.1 go away", "550 5.7.54 Unable to relay", "550 5.1.8 unknown sender domain",
            "550 5.1.7 bad sender", "550 5.1.0 address rejected", "550 Sender verify failed",
            "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
            "550-Relaying is not for you.\r\n550 See https://relay.example/",
            "550-Your address is blocked.\r\n550 See https://x.example/",
        ]
    )
    func aboutUs(line: String) {
        let reply = SMTPReply(
            // CURLE_SEND_ERROR
            code: 55,
            status: Int(line.prefix(3)) ?? 0,
            isBodySent: false,
            message: "Failed sending data to the peer",
            account: "RCPT failed: 550",
            line: line + "\r\n"
        )
        #expect(!reply.isHardBounce)
        #expect(reply.result.outcome == .rejected)
    }

    @Test("a relay that repeats the login tells nobody the password, plain or encoded")
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
                hidden: relay.confidences
            )
            #expect(reply.result.excerpt == "535 5.7.8 bad credentials: (redacted)")
        }
    }

    @Test("customers are told what they can act on")
    func wanted() throws {
        let channel = EmailChannel(
            relay: try SMTPRelay("smtp://localhost"),
            sender: try MailSender("a@b.c")
        )
        #expect(!channel.wants(Samples.event("src_1", "pending", previous: nil)))
        #expect(!channel.wants(Samples.event("pi_1", "requires_payment_method", previous: nil)))
        #expect(
            channel.wants(Samples.event("pi_1", "requires_payment_method", previous: "processing"))
        )
        #expect(channel.wants(Samples.event("src_1", "chargeable")))
        #expect(channel.wants(Samples.event("src_1", "pending", final: true, closed: .expired)))
        #expect(channel.wants(Samples.event("src_1", "consumed", final: true)))
    }
}
