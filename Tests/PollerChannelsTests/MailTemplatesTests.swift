import Foundation
import PollerIdentity
import PollerIncidents
import PollerLocalization
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@testable import PollerChannels

@Suite("The text of an email")
struct MailTemplatesTests {
    /// Renders the mail for an event without a payment.
    func content(
        _ event: Event,
        branding: Branding? = nil,
        unsubscribe: String? = nil,
        templates: MailTemplates = .standard
    ) throws -> MailContent {
        templates.content(
            try #require(PaymentMail(event)),
            branding: branding,
            unsubscribe: unsubscribe
        )
    }

    @Test("text and HTML have the same content, without IDs and raw statuses")
    func complete() throws {
        let shop = try Branding(
            name: "Shop GmbH",
            homeURL: "https://shop.example/",
            support: "help@shop.example"
        )
        let link = "https://pay.example/u/abc"
        for (branding, unsubscribe) in [(shop, link), (nil, nil)] as [(Branding?, String?)] {
            for status in ["chargeable", "consumed", "failed", "canceled", "shipped"] {
                let event = Samples.event(
                    "src_1",
                    status,
                    final: status != "chargeable",
                    object: #"{"type":"ideal","amount":5,"currency":"eur","livemode":false}"#
                )
                let content = try content(event, branding: branding, unsubscribe: unsubscribe)
                let headline = try #require(content.text.split(separator: "\n").first)
                #expect(content.subject.contains(headline) && content.subject.contains("(iDEAL)"))
                #expect(content.html.contains("<h1") && content.html.contains(">\(headline)</h1>"))
                for part in [content.text, content.html] {
                    #expect(!part.contains("{{") && !part.contains("}}"))
                    #expect(part.contains("€0.05") && part.contains("iDEAL"))
                    #expect(!part.contains("src_"))
                    // The only status that is also an English word.
                    #expect(status == "failed" || !part.contains(status))
                    #expect(part.contains("Test mode: no real payment"))
                    #expect(part.contains("Shop GmbH") == (branding != nil))
                    #expect(part.contains(link) == (unsubscribe != nil))
                    #expect(part.contains("help@shop.example") == (branding != nil))
                }
                #expect(!content.text.contains("<") && !content.text.contains("&"))
                #expect(!content.text.contains("\n\n\n"), "\(content.text)")
                #expect(content.html.hasPrefix("<!doctype html>"))
            }
        }
    }

    @Test("an email is in the customer's language if known, and in the shop's otherwise")
    func languages() throws {
        let object =
            #"{"type":"sofort","amount":5,"currency":"eur","sofort":{"preferred_language":"fr"}}"#
        let shop = try Branding(name: "Shop", languageTag: "de-AT")
        let result = try content(Samples.event("src_1", "failed", object: object), branding: shop)
        #expect(result.subject == "Shop\u{A0}: Échec du paiement – 0,05\u{A0}€ (Sofort)")
        #expect(result.html.contains(#"<html lang="fr">"#))
        let withoutDetails = try content(
            Samples.event("src_1", "failed", object: "{}"),
            branding: shop
        )
        #expect(withoutDetails.subject == "Shop: Zahlung fehlgeschlagen")
        #expect(throws: InvalidInput.self) { try Branding(name: "Shop", languageTag: "") }
    }

    @Test("an email names the order in the watch's metadata, else the last observed description")
    func orders() throws {
        let event = Samples.event("src_1", "failed", final: true, object: "{}")
        let seen = Samples.event("src_1", "pending", object: #"{"description":"Two lamps"}"#)
        for (metadata, subject) in [
            (#"{"order":"A77","locale":"de"}"#, "Zahlung fehlgeschlagen – Bestellung A77"),
            (#"{"order_id":77}"#, "Payment failed – Order 77"),
            (#"{"order":""}"#, "Payment failed – Two lamps"), ("", "Payment failed – Two lamps"),
            (#"{"description":"A lamp"}"#, "Payment failed – A lamp"),
        ] {
            let snapshot = WatchSnapshot(
                watch: Watch(
                    key: event.key,
                    policy: .standard,
                    createdAt: Samples.start,
                    deadline: Samples.start + .seconds(600),
                    run: 1,
                    seq: 2,
                    state: WatchState()
                ),
                closed: nil,
                nextPollAt: nil,
                lastError: nil,
                notify: [],
                metadata: metadata,
                lastEvent: seen
            )
            // A large object is omitted from its event. Then the last observed object counts.
            let bare = try #require(
                Event(
                    json: event.json.replacingOccurrences(
                        of: #""object":{}"#,
                        with: #""object":null"#
                    )
                )
            )
            let mail = try #require(PaymentMail(bare, of: snapshot))
            let content = MailTemplates.standard.content(mail, branding: nil, unsubscribe: nil)
            #expect(content.subject == subject)
        }
    }

    @Test("an operator's template and texts are used, and invalid ones are rejected at once")
    func replaced() throws {
        let own = try MailTemplates(replacing: [
            "mail.txt": "{{%CONTENT_TYPE:TEXT}}\n* {{title}} *",
            "en.txt": "page.failed.title = Oh no",
            "README.md": "not ours",
        ])
        let failed = Samples.event("src_1", "failed", final: true, object: "{}")
        let content = try content(failed, templates: own)
        #expect(content.text == "* Oh no *" && content.subject == "Oh no")
        #expect(content.html.contains(">Oh no</h1>"))
        let folder =
            FileManager.default.temporaryDirectory.path
            + "/templates-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "page.failed.title = Alas\n".write(
            toFile: folder + "/en.txt",
            atomically: true,
            encoding: .utf8
        )
        #expect(
            try self.content(failed, templates: MailTemplates(folder: folder)).subject == "Alas"
        )
        try Data([0xFF]).write(to: URL(filePath: folder + "/de.txt"))
        #expect(throws: InvalidInput.self) { try MailTemplates(folder: folder) }
        #expect(throws: InvalidInput.self) { try MailTemplates(folder: folder + "/none") }
        for wrong in [["mail.html": "{{#open}}"], ["de.txt": "page.failed.titel = x"]] {
            #expect(throws: InvalidInput.self) { try MailTemplates(replacing: wrong) }
        }
    }

    @Test("upstream and shop texts never become markup, a header or a template")
    func hostile() throws {
        let evil = #"<script>\"'&{{title}}\r\nBcc: a@b\u2028x"#
        let content = try content(
            Samples.event(
                "src_1",
                "failed",
                final: true,
                object: #"{"amount":1,"currency":"<b>","type":"<i>","description":"\#(evil)"}"#
            ),
            branding: try Branding(name: "<script>\"'&{{title}}</td>")
        )
        #expect(!content.html.contains("<script>") && !content.html.contains("<b>"))
        #expect(!content.html.contains("<i>"))
        #expect(content.html.contains("&lt;script&gt;&quot;&#39;&amp;{{title}}"))
        #expect(!content.text.contains("\nBcc") && !content.text.contains("\r"))
        #expect(!content.subject.contains { $0.isNewline })
        #expect(content.subject.contains("Bcc: a@bx"), "in one line, as text")
    }

    @Test(
        "a special character with any combining mark is escaped in every email",
        arguments: MarkedText.specials
    )
    func marks(special: Unicode.Scalar) throws {
        #expect(!MarkedText.isMarkup(MailHTML().escapeText(MarkedText.around(special))))
        let branding = try Branding(name: "a\(special)\u{301}b")
        let own = "{{#masthead}}[{{name}}]{{/masthead}}"
        for template in [own, "{{%CONTENT_TYPE:HTML}}\n\(own)", "\n\(own)"] {
            let content = try content(
                Samples.event("src_1", "failed", final: true),
                branding: branding,
                templates: MailTemplates(replacing: ["mail.html": template])
            )
            #expect(content.html.contains("[a&") && !MarkedText.isMarkup(content.html))
            #expect(!content.text.contains("[a&"), "text is not escaped")
        }
        var board = IncidentBoard()
        let problem = IncidentObservation.Problem(nil, count: 1, "a\(special)\u{301}b")
        let seen = [IncidentKind.noWorker: IncidentObservation([problem], action: "start one")]
        let incident = try #require(board.note(seen, at: Samples.start, hold: .zero).first)
        #expect(IncidentMail.content(incident, publicURL: nil).html.contains("<p>a&"))
    }

    @Test("branding that could break out of its place in an email is rejected")
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

    @Test("an event is emailed with its own occasion, and other events are not emailed")
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
        // The status stays the same: a declined attempt is mailed, other changes are not.
        let declined = #"{"last_payment_error":{"code":"card_declined"}}"#
        for previous in [nil, "requires_payment_method"] {
            let result = occasion("requires_payment_method", previous: previous, object: declined)
            #expect(result == .failed)
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
        func charge(_ status: ObservedCharge.Status, final: Bool = false) -> MailOccasion? {
            MailOccasion(Samples.charge(status, final: final))
        }
        #expect(charge(.pending) == nil && charge(.succeeded) == nil)
        #expect(charge(.succeeded, final: true) == .confirmed)
        #expect(charge(.failed) == .uncharged)
    }

    @Test("no email reports `confirmed` before the payment is certain", arguments: 0..<40)
    func confirmed(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            var payment = PaymentWalk(using: &generator)
            while let event = payment.next(using: &generator) {
                guard MailOccasion(event) == .confirmed else { continue }
                #expect(payment.isPaid, "\(generator): \(event.json)")
            }
        }
    }

    @Test("an expired payment asks the payer to pay again only if no money can be in transit")
    func expired() throws {
        func text(_ status: String) throws -> String {
            let event = Samples.event("src_1", status, previous: status, closed: .expired)
            return try content(event).text
        }
        #expect(try text("requires_payment_method").contains("Please return to the shop to pay"))
        for status in ["pending", "chargeable", "consumed", "processing", "requires_action"] {
            #expect(try text(status).contains("Please don't pay again"), "\(status)")
        }
    }

    @Test("the text on a brand colour is readable")
    func inks() {
        #expect(PayerColour.ink(on: "#ffffff") == "#000000")
        #expect(PayerColour.ink(on: "#1a73e8") == "#ffffff")
    }
}
