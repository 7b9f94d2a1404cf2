import Poller
import PollerTesting
import Testing

@testable import PollerDelivery

@Suite("The words of a mail")
struct MailTemplatesTests {
    @Test("each occasion has a text and a page that say the same", arguments: MailOccasion.allCases)
    func complete(occasion: MailOccasion) throws {
        let shop = try Branding(
            name: "Shop GmbH",
            homeURL: "https://shop.example/",
            support: "help@shop.example"
        )
        let link = "https://pay.example/u/abc"
        for (branding, unsubscribe) in [(shop, link), (nil, nil)] as [(Branding?, String?)] {
            let content = MailTemplates.standard.content(
                occasion,
                for: Samples.event(object: #"{"amount":5,"currency":"eur","livemode":false}"#),
                branding: branding,
                unsubscribe: unsubscribe
            )
            let headline = try #require(content.text.split(separator: "\n").first)
            #expect(content.subject == "\(headline) (src_1)")
            #expect(content.html.contains("<h1") && content.html.contains(">\(headline)</h1>"))
            for part in [content.text, content.html] {
                #expect(!part.contains("{{") && !part.contains("}}"))
                #expect(part.contains("src_1") && part.contains("0.05 EUR"))
                #expect(part.contains("Test mode: no money moves"))
                #expect(part.contains("Shop GmbH") == (branding != nil))
                #expect(part.contains(link) == (unsubscribe != nil))
            }
            #expect(!content.text.contains("<") && !content.text.contains("&"))
            #expect(!content.text.contains("\n\n\n"), "\(content.text)")
            #expect(content.html.hasPrefix("<!doctype html>"))
        }
    }

    @Test("nothing that an upstream or a shop writes becomes markup, a header or a template")
    func hostile() throws {
        let evil = "<script>\"'&{{source}}\r\nBcc: a@b\u{2028}x"
        let content = MailTemplates.standard.content(
            .update,
            for: Samples.event("src_1", evil, object: #"{"amount":1,"currency":"<b>"}"#),
            branding: try Branding(name: "<script>\"'&{{source}}</td>"),
            unsubscribe: nil
        )
        #expect(!content.html.contains("<script>") && !content.html.contains("<b>"))
        #expect(content.html.contains("&lt;script&gt;&quot;&#39;&amp;{{source}}"))
        #expect(!content.text.contains("\nBcc") && !content.text.contains("\r"))
        #expect(!content.subject.contains { $0.isNewline })
    }

    @Test("what could leave its place in a mail is no branding")
    func branding() {
        let names = ["", "a\r\nBcc: x@y", "a\u{0}", "a\u{2028}b", "a\u{202E}b"]
        for name in names + [String(repeating: "x", count: 81)] {
            #expect(throws: InvalidInput.self, "\(name)") { try Branding(name: name) }
        }
        let urls = [
            "javascript:alert(1)", "http://shop.example", "https://", "https://a b",
            "https://a\"onclick=x", "https://a'b", "https://a\\b", "https://u:p@h/",
            "http://127.0.0.1.evil.example/", "https://a\r\nb", "data:text/html,x",
        ]
        for url in urls {
            #expect(throws: InvalidInput.self, "\(url)") { try Branding(name: "S", homeURL: url) }
            #expect(throws: InvalidInput.self, "\(url)") { try Branding(name: "S", logoURL: url) }
        }
        for colour in [
            "red", "#fff", "#12345g", "#123456;x", "123456", "#1234567", "expression(1)",
        ] {
            #expect(throws: InvalidInput.self, "\(colour)") {
                try Branding(name: "S", colour: colour)
            }
        }
        for support in ["a@b\r\nBcc: c@d", "a@b,c@d", "<a@b>", "a", "a@b>x"] {
            #expect(throws: InvalidInput.self, "\(support)") {
                try Branding(name: "S", support: support)
            }
        }
    }

    @Test("an event is told as what it is, and one without words or use is not told")
    func occasions() {
        func occasion(
            _ status: String,
            previous: String? = "pending",
            final: Bool = false,
            closed: ClosedReason? = nil,
            object: String = #"{"type":"ideal","usage":"single_use"}"#
        ) -> MailOccasion? {
            MailOccasion(
                Samples.event(
                    "src_1",
                    status,
                    previous: previous,
                    final: final,
                    closed: closed,
                    object: object
                )
            )
        }
        #expect(occasion("chargeable") == .authorised)
        #expect(occasion("requires_capture") == .authorised)
        #expect(occasion("consumed", final: true) == .confirmed)
        for later in [
            #"{"type":"sofort","usage":"single_use"}"#, #"{"type":"card","usage":"reusable"}"#,
            #"{"type":"ideal"}"#, "{}",
        ] {
            #expect(occasion("consumed", final: true, object: later) == .processing, "\(later)")
        }
        #expect(occasion("succeeded", final: true) == .confirmed)
        #expect(occasion("failed", final: true) == .failed)
        #expect(occasion("requires_payment_method") == .failed)
        #expect(occasion("requires_payment_method", previous: nil) == nil)
        // The status stays: a declined try is told, anything else beside it is not.
        let declined = #"{"last_payment_error":{"code":"card_declined"}}"#
        for previous in [nil, "requires_payment_method"] {
            let told = occasion("requires_payment_method", previous: previous, object: declined)
            #expect(told == .failed)
        }
        for status in ["requires_payment_method", "chargeable", "requires_capture"] {
            #expect(occasion(status, previous: status) == nil, "\(status)")
        }
        #expect(occasion("canceled", final: true) == .cancelled)
        #expect(occasion("pending", closed: .expired) == .expired)
        #expect(occasion("pending", closed: .cancelled) == .stopped)
        #expect(occasion("pending", closed: .gone) == .unknown)
        #expect(occasion("chargeable", closed: .dead) == .unknown)
        #expect(occasion("shipped", final: true) == .update)
        for quiet in ["pending", "processing", "requires_action", "shipped"] {
            #expect(occasion(quiet) == nil, "\(quiet)")
        }
        func charge(_ status: ChargeSeen.Status, final: Bool = false) -> MailOccasion? {
            MailOccasion(Samples.charge(status, final: final))
        }
        #expect(charge(.pending) == nil && charge(.succeeded) == nil)
        #expect(charge(.succeeded, final: true) == .confirmed)
        #expect(charge(.failed) == .uncharged)
    }

    @Test("nobody is told confirmed before it is certain, whatever comes", arguments: 0..<40)
    func confirmed(_ seed: Int) {
        var chance = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            var payment = PaymentWalk(using: &chance)
            while let event = payment.next(using: &chance) {
                guard MailOccasion(event) == .confirmed else { continue }
                #expect(payment.isPaid, "\(chance): \(event.json)")
            }
        }
    }

    @Test("who waited in vain is asked to begin anew only where no money can be on its way")
    func expired() {
        func content(_ status: String) -> MailContent {
            MailTemplates.standard.content(
                .expired,
                for: Samples.event("src_1", status, previous: status, closed: .expired),
                branding: nil,
                unsubscribe: nil
            )
        }
        let unpaid = content("requires_payment_method")
        #expect(unpaid.text.contains("start it again") && unpaid.html.contains("start it again"))
        for status in ["pending", "chargeable", "consumed", "processing", "requires_action"] {
            let waiting = content(status)
            for part in [waiting.text, waiting.html] {
                #expect(!part.contains("again") && part.contains("on its way"), "\(status)")
            }
        }
    }

    @Test("an amount is written as its currency is counted")
    func amounts() {
        #expect(MailPayment.text(1099, "eur") == "10.99 EUR")
        #expect(MailPayment.text(5, "usd") == "0.05 USD")
        #expect(MailPayment.text(1099, "jpy") == "1099 JPY")
        #expect(MailPayment.text(1099, "kwd") == "1.099 KWD")
        #expect(MailPayment.text(1, "<b>") == nil && MailPayment.text(-1, "eur") == nil)
        #expect(MailPayment.ink(on: "#ffffff") == "#000000")
        #expect(MailPayment.ink(on: "#1a73e8") == "#ffffff")
    }
}
