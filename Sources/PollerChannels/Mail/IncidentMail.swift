import Mustache
import PollerIdentity
import PollerIncidents

/// The mail to an operator about an incident: the problem, the action and where to read more, in English.
///
/// It has no design or text of a shop. It also has no unsubscribe link, because operators choose its recipients
/// themselves. The suppression list applies only to payers.
enum IncidentMail {
    /// The maximum length of the subject, more than mail programs show in a list.
    private static let subjectMax = 120

    /// The HTML page with the same lines as the text.
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

    /// Returns the mail; `publicURL` is the address of the console, if it can be reached.
    static func content(_ incident: Incident, publicURL: String?) -> MailContent {
        let isOver = incident.resolvedAt != nil
        let headline = isOver ? "Resolved." : "Your Poller cluster needs attention."
        let footer =
            isOver
            ? "No further mail follows for this incident."
            : "You will receive one more mail when this is resolved."
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
        if incident.count > 1 { facts.append(("count", "\(incident.count)")) }
        if incident.resolvedAt == nil, let action = incident.action {
            facts.append(("action", action))
        }
        facts.append(("more", "pollerctl incident list, pollerctl doctor"))
        if let publicURL { facts.append(("console", "\(publicURL)/")) }
        facts.append(("incident", incident.id.description))
        return facts.map { (label: $0.0, value: $0.1) }
    }
}
