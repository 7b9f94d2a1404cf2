import Mustache
import Poller
import PollerIdentity

/// What a mail tells an operator of an incident: plain English, what to do, and where to look.
///
/// It is no payer's mail: it has neither a shop's colours nor its words, and no link to stop it, because
/// it goes to whom the operators themselves have named; the list of those who want no mail is about payers.
enum IncidentMail {
    /// The longest subject: what is seen of one in a list, and more.
    private static let subjectMax = 120

    /// As text the lines; in HTML the same, with what to do set apart.
    private static let page: MustacheTemplate = {
        do {
            return try MustacheTemplate(
                string: MailHTML.template(
                    """
                    <!DOCTYPE html>
                    <html lang="en"><body style="font: 16px/1.5 system-ui, sans-serif; color: #1b1f24">
                    <p style="font-weight: 600">{{headline}}</p>
                    <p>{{message}}</p>
                    <table style="border-spacing: 0">
                    {{#facts}}<tr><td style="padding: 2px 16px 2px 0; color: #57606a">{{label}}</td><td>{{value}}</td></tr>
                    {{/facts}}</table>
                    <p style="color: #57606a">{{footer}}</p>
                    </body></html>

                    """
                )
            )
        } catch {
            preconditionFailure("a template this program was built with is broken: \(error)")
        }
    }()

    /// The words of the mail; `publicURL` is where the console is, if it can be reached.
    static func content(_ incident: Incident, publicURL: String?) -> MailContent {
        let isOver = incident.resolvedAt != nil
        let headline = isOver ? "This is over." : "Your Poller cluster needs somebody."
        let footer =
            isOver
            ? "Nothing more is told of this one." : "You are told once more, when this is over."
        let facts = facts(incident, publicURL)
        let width = (facts.map(\.label.count).max() ?? 0) + 2
        let lines = facts.map { fact in
            fact.label + String(repeating: " ", count: width - fact.label.count) + fact.value
        }
        let text = [headline, "", incident.message, ""] + lines + ["", footer, ""]
        let html = page.render(
            [
                "headline": headline, "message": incident.message, "footer": footer,
                "facts": facts.map { ["label": $0.label, "value": $0.value] },
            ] as [String: Any]
        )
        let subject = "[Poller] \(isOver ? "over: " : "")\(incident.message)"
        return MailContent(
            subject: String(subject.prefix(subjectMax)),
            text: text.joined(separator: "\n"),
            html: html
        )
    }

    private static func facts(
        _ incident: Incident,
        _ publicURL: String?
    ) -> [(label: String, value: String)] {
        var facts = [("since", incident.since.description)]
        if let end = incident.resolvedAt { facts.append(("until", end.description)) }
        if incident.count > 1 { facts.append(("how many", "\(incident.count)")) }
        if incident.resolvedAt == nil, let action = incident.action {
            facts.append(("what to do", action))
        }
        facts.append(("look at", "pollerctl incident list, pollerctl doctor"))
        if let publicURL { facts.append(("console", "\(publicURL)/")) }
        facts.append(("incident", incident.id.description))
        return facts.map { (label: $0.0, value: $0.1) }
    }
}
