import Foundation
import Mustache
package import PollerIdentity
package import PollerLocalization
import PollerPayments

/// Renders mails: the texts of ``PayerMessage`` in one template for text and one for HTML.
///
/// Every value is plain text. The HTML template escapes it, and the text template inserts it unchanged. Line breaks
/// are removed from values first. An operator's own templates and texts replace the built-in ones.
///
/// *Values of a template*: always `language`, `title`, `text`, `tone` and `mark` (a colour and a sign for the state),
/// `colour` and `ink` (the shop's colour, and a readable text colour on it), `footer`, and the list `facts` of
/// `label` and `value`. If the payer must act: the lists `details` (`label`, `value`, and `unbroken` for a value that
/// must stay on one line) and `links` (`label`, `url`), with the flags `hasDetails` and `hasLinks`. If present:
/// `test` (a sentence for test mode), `unsubscribe` with `unsubscribeLabel`, `masthead` with `name`, `home` with
/// `back`, `logo`, `support`.
package struct MailTemplates: Sendable {
    /// The built-in templates and texts, parsed once.
    package static let standard: MailTemplates = {
        do throws(InvalidInput) {
            return try MailTemplates(replacing: [:])
        } catch {
            preconditionFailure("a template this program was built with is broken: \(error)")
        }
    }()

    /// The colour of headings and buttons for a shop without its own.
    private static let colour = "#3b4754"

    private let library: MustacheLibrary
    /// The texts of mails and of the return page.
    package let words: PayerLexicon

    /// Creates the built-in templates with an operator's replacements.
    ///
    /// `files` has the files `mail.txt` and `mail.html`, and texts such as `de.txt` (``PayerLexicon``).
    ///
    /// *Errors*: ``InvalidInput`` with the file that cannot be parsed and the reason.
    package init(replacing files: [String: String]) throws(InvalidInput) {
        words = try PayerLexicon(replacing: files)
        var library = MustacheLibrary()
        let ours = ["mail.txt": EmbeddedTexts.mail_txt, "mail.html": EmbeddedTexts.mail_html]
        for (name, source) in ours {
            do {
                let text = files[name] ?? source
                try library.register(MailHTML.template(text), named: name)
            } catch {
                throw InvalidInput(name, "is not valid Mustache: \(error)")
            }
        }
        self.library = library
    }

    /// Creates the built-in templates with replacements from a folder.
    ///
    /// *Errors*: ``InvalidInput`` with the file that cannot be read or parsed.
    package init(folder: String) throws(InvalidInput) {
        do throws(InvalidInput) {
            try self.init(replacing: PayerLexicon.files(in: folder))
        } catch {
            throw InvalidInput("templates", "is a folder where \(error)")
        }
    }

    /// Returns the contents of a mail.
    ///
    /// `unsubscribe` is the unsubscribe link, if there is one.
    func content(_ mail: PaymentMail, branding: Branding?, unsubscribe: String?) -> MailContent {
        let words = words[mail.language ?? branding?.language ?? .en]
        let purchase = mail.purchase(of: branding)
        let message =
            mail.notice.map { PayerMessage($0, shownAt: mail.mandateURL, of: purchase, in: words) }
            ?? PayerMessage(mail.payment, mail.step, of: purchase, for: .mail, in: words)
        var values = Self.values(mail, message, words, branding, unsubscribe)
        let time = PayerMoney.time(mail.time, in: words.language, at: purchase.zone)
        values["facts"] =
            Self.rows(message.facts) + [["label": words("label.time"), "value": time]]
        if let home = purchase.returnLink, home.opensInAnyBrowser {
            values["home"] = home.url
            values["back"] = values["back"] ?? words("action.back")
        }
        return MailContent(
            subject: Self.line(message.subject),
            text: render("mail.txt", values),
            html: render("mail.html", values)
        )
    }

    private func render(_ name: String, _ values: [String: Any]) -> String {
        guard let text = library.render(values, withTemplate: name) else {
            preconditionFailure("there is no template \(name)")
        }
        return String(text.drop { $0 == "\n" })
    }

    private static func values(
        _ mail: PaymentMail,
        _ message: PayerMessage,
        _ words: PayerWords,
        _ branding: Branding?,
        _ unsubscribe: String?
    ) -> [String: Any] {
        let colour = branding?.colour ?? Self.colour
        let support = branding?.support?.description
        var values: [String: Any] = [
            "language": words.language.htmlTag, "title": line(message.title),
            "text": line(message.text),
            "tone": mail.tone.colour, "mark": mail.tone.mark,
            "colour": colour, "ink": PayerColour.ink(on: colour),
            "footer": support.map { words("mail.support", ["support": $0]) }
                ?? words("mail.no_answers"),
        ]
        values["details"] = rows(message.details)
        values["links"] = message.links.map { ["label": line($0.label), "url": $0.url] }
        if !message.details.isEmpty { values["hasDetails"] = true }
        if !message.links.isEmpty { values["hasLinks"] = true }
        if mail.isTest { values["test"] = words("test") }
        if let unsubscribe {
            values["unsubscribe"] = unsubscribe
            values["unsubscribeLabel"] = words("mail.unsubscribe")
        }
        if let branding {
            values["masthead"] = true
            values["name"] = line(branding.name)
            values["home"] = branding.homeURL
            values["back"] = words("action.back", ["shop": line(branding.name)])
            values["support"] = support
            values["logo"] = branding.logoURL
        }
        return values
    }

    /// Returns the rows of a template's table; `unbroken` marks a value that must stay on one line.
    private static func rows(_ facts: [PayerFact]) -> [[String: String]] {
        facts.map { fact in
            let row = ["label": line(fact.label), "value": line(fact.value)]
            return fact.isUnbroken ? row.merging(["unbroken": "yes"]) { $1 } : row
        }
    }

    /// Returns a text on one line, without control characters.
    private static func line(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { scalar in
                    scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value)
                        && scalar.value != 0x2028 && scalar.value != 0x2029
                }
            )
        )
    }
}

/// The contents of one mail: a subject, and two bodies with the same text.
struct MailContent: Hashable, Sendable {
    /// The subject on one line, as plain text.
    let subject: String
    let text: String
    let html: String
}

/// Escapes values in HTML templates.
///
/// swift-mustache escapes each `Character`, so a quotation mark with a combining accent stays unescaped
/// (``HTMLText``). Therefore its content type `HTML` is replaced, and every template starts with the pragma that
/// selects it. A template without the pragma gets the library's default type, which cannot be replaced. A later
/// pragma in the template overrides the first one.
struct MailHTML: MustacheContentType {
    private static let isRegistered: Void = MustacheContentTypes.register(MailHTML(), named: "HTML")

    func escapeText(_ text: String) -> String { HTMLText.escaped(text) }

    /// Returns the source of a template with this escaping.
    static func template(_ source: String) -> String {
        _ = isRegistered
        return "{{%CONTENT_TYPE:HTML}}" + source
    }
}
