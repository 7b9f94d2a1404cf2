import Foundation
import Mustache
import Poller
package import PollerIdentity
package import PollerWords

/// Writes mails: the words of ``PayerMessage`` in one template for text and one for HTML.
///
/// Every value is text: the HTML template escapes it, the text template takes it as it is, and what could
/// end a line is taken out before. An operator's own templates and words take the place of ours.
///
/// *What a template is given*: `language`, `title`, `text`, `tone` and `mark` (a colour and a sign for the
/// state), `colour` and `ink` (the shop's, and what can be read on it), `footer`, the list `facts` of
/// `label` and `value`, always; the lists `details` (`label`, `value`, and `unbroken` where it must stand on one line) and `links` (`label`, `url`) with
/// the flags `hasDetails` and `hasLinks` when the payer has something to do; `test` (a sentence, when no
/// real money is meant), `unsubscribe` with `unsubscribeLabel`, `masthead` with `name`, `home` with
/// `back`, `logo`, `support`, when there are any.
package struct MailTemplates: Sendable {
    /// The templates and words this program was built with; parsed once.
    package static let standard: MailTemplates = {
        do throws(InvalidInput) {
            return try MailTemplates(replacing: [:])
        } catch {
            preconditionFailure("a template this program was built with is broken: \(error)")
        }
    }()

    /// Headings and buttons of a shop that names no colour.
    private static let colour = "#3b4754"

    private let library: MustacheLibrary
    /// What is said in them, and on the return page.
    package let words: PayerLexicon

    /// Ours, with an operator's own in place of some: the files `mail.txt` and `mail.html`, and words
    /// such as `de.txt` (``PayerLexicon``).
    ///
    /// Errors: ``InvalidInput`` with the file that does not parse and why.
    package init(replacing files: [String: String]) throws(InvalidInput) {
        words = try PayerLexicon(replacing: files)
        var library = MustacheLibrary()
        let ours = ["mail.txt": PackageResources.mail_txt, "mail.html": PackageResources.mail_html]
        for (name, source) in ours {
            do {
                let text = files[name] ?? String(decoding: source, as: UTF8.self)
                try library.register(MailHTML.template(text), named: name)
            } catch {
                throw InvalidInput(field: name, message: "is no Mustache template: \(error)")
            }
        }
        self.library = library
    }

    /// Ours, with what is in a folder in place of some.
    ///
    /// Errors: ``InvalidInput`` with the file that cannot be read or does not parse.
    package init(folder: String) throws(InvalidInput) {
        do throws(InvalidInput) {
            try self.init(replacing: PayerLexicon.files(in: folder))
        } catch {
            throw InvalidInput(field: "templates", message: "is a folder where \(error)")
        }
    }

    /// What a mail says.
    ///
    /// `unsubscribe` is where the customer stops such mails, if they can.
    func content(_ mail: PaymentMail, branding: Branding?, unsubscribe: String?) -> MailContent {
        let words = words[mail.language ?? branding?.language ?? .en]
        let purchase = mail.purchase(of: branding)
        let said =
            mail.notice.map { PayerMessage($0, shownAt: mail.mandateURL, of: purchase, in: words) }
            ?? PayerMessage(mail.payment, mail.step, of: purchase, for: .mail, in: words)
        var values = Self.values(mail, said, words, branding, unsubscribe)
        let time = PayerMoney.time(mail.time, in: words.language, at: purchase.zone)
        values["facts"] =
            Self.rows(said.facts) + [["label": words("label.time"), "value": time]]
        if let home = purchase.returnLink, home.opensInAnyBrowser {
            values["home"] = home.url
            values["back"] = values["back"] ?? words("action.back")
        }
        return MailContent(
            subject: Self.line(said.subject),
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
        _ said: PayerMessage,
        _ words: PayerWords,
        _ branding: Branding?,
        _ unsubscribe: String?
    ) -> [String: Any] {
        let colour = branding?.colour ?? Self.colour
        let support = branding?.support?.description
        var values: [String: Any] = [
            "language": words.language.htmlTag, "title": line(said.title), "text": line(said.text),
            "tone": mail.tone.colour, "mark": mail.tone.mark,
            "colour": colour, "ink": PayerColour.ink(on: colour),
            "footer": support.map { words("mail.support", ["support": $0]) }
                ?? words("mail.no_answers"),
        ]
        values["details"] = rows(said.details)
        values["links"] = said.links.map { ["label": line($0.label), "url": $0.url] }
        if !said.details.isEmpty { values["hasDetails"] = true }
        if !said.links.isEmpty { values["hasLinks"] = true }
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

    /// The rows of a template's table; `unbroken` marks a value that must stay on one line.
    private static func rows(_ facts: [PayerFact]) -> [[String: String]] {
        facts.map { fact in
            let row = ["label": line(fact.label), "value": line(fact.value)]
            return fact.isUnbroken ? row.merging(["unbroken": "yes"]) { $1 } : row
        }
    }

    /// Text of one line.
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

/// The words of one mail: a subject and two bodies that say the same.
struct MailContent: Hashable, Sendable {
    /// One line, as text.
    let subject: String
    let text: String
    let html: String
}

/// The escaping of values in HTML templates.
///
/// swift-mustache escapes by `Character`, which lets a quote with a combining accent through
/// (``HTMLText``). So its content type `HTML` is replaced, and every template begins with the pragma
/// that selects it: without one, a template gets the library's own type, which cannot be replaced. A
/// later pragma in the template overrides the first.
struct MailHTML: MustacheContentType {
    private static let isRegistered: Void = MustacheContentTypes.register(MailHTML(), named: "HTML")

    func escapeText(_ text: String) -> String { HTMLText.escaped(text) }

    /// The source of a template whose values are escaped here.
    static func template(_ source: String) -> String {
        _ = isRegistered
        return "{{%CONTENT_TYPE:HTML}}" + source
    }
}
