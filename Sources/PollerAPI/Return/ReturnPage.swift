import HTTPTypes
import Hummingbird
import PollerIdentity
import PollerLocalization
import PollerPayments

/// The return page, built from the files in `ReturnPage`; one per shop, because its policy depends on the shop's colour
/// and logo.
///
/// The page is complete without its script, which only keeps it up to date. Without the script, the page reloads until
/// a final state. All values are inserted as escaped text.
struct ReturnPage {
    /// The reload interval of a page without a script, and the maximum number of reloads, after which the page says so.
    private static let refreshSeconds = 4
    private static let refreshesMax = 150

    private let page: HTMLPage
    private let branding: Branding?
    /// The permissions of the page beyond its style and script.
    let policy: String

    /// Creates the page of a shop; `nil` for a page without branding.
    init(_ branding: Branding? = nil) {
        self.branding = branding
        var style = EmbeddedTexts.return_css
        if let colour = branding?.colour {
            let ink = PayerColour.ink(on: colour)
            style += "body { --brand: \(colour); --brand-ink: \(ink); }\n"
        }
        let logo = branding?.logoURL.flatMap(Self.policySource)
        policy =
            (logo.map { "img-src \($0); " } ?? "")
            + "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        page = HTMLPage(
            EmbeddedTexts.return_html,
            style: style,
            script: EmbeddedTexts.return_js,
            policy: policy
        )
    }

    /// Returns the logo URL as a policy source, without a query; `nil` for a URL that would end the directive.
    ///
    /// *Source*: CSP level 3, §2.3.1: `;` and `,` end a source, and a path has no query.
    static func policySource(_ url: String) -> String? {
        let policySource = String(url.prefix { $0 != "?" && $0 != "#" })
        return policySource.contains { ";,*".contains($0) } ? nil : policySource
    }

    /// Returns the response with the page of a payment.
    ///
    /// `path` has the page's URL without secrets, `loads` is the number of loads without a script, and `notice` is the
    /// result of a form.
    func response(
        _ update: ReturnUpdate,
        in words: PayerWords,
        seq: Int,
        isLive: Bool?,
        path: ReturnPaths,
        loads: Int,
        notice: PayerNotice? = nil
    ) -> Response {
        page.response(
            text(
                update,
                in: words,
                seq: seq,
                isLive: isLive,
                path: path,
                loads: loads,
                notice: notice
            ),
            status: .ok
        )
    }

    /// Returns the page of a payment as text.
    func text(
        _ update: ReturnUpdate,
        in words: PayerWords,
        seq: Int,
        isLive: Bool?,
        path: ReturnPaths,
        loads: Int,
        notice: PayerNotice? = nil
    ) -> String {
        var refresh = ""
        // A page with a form does not reload, which would lose the customer's input.
        if !update.state.isFinal, update.form == nil, loads < Self.refreshesMax {
            let next = path.page + (path.page.contains("?") ? "&" : "?") + "n=\(loads + 1)"
            refresh =
                "<noscript><meta http-equiv=\"refresh\" "
                + "content=\"\(Self.refreshSeconds);url=\(HTMLText.escaped(next))\"></noscript>"
        }
        let rows = ReturnRows(words)
        let onward = onward(update, words)
        let code = update.step.codeText.flatMap {
            update.payerMessage.details.isEmpty ? nil : QRCode($0)
        }
        return text(
            [
                "refresh": refresh,
                "state": update.state.rawValue,
                "title": HTMLText.escaped(update.payerMessage.title),
                "text": HTMLText.escaped(update.payerMessage.text),
                "seq": String(seq),
                "watch": update.state.isFinal ? "" : HTMLText.escaped(path.state),
                "page": HTMLText.escaped(path.page),
                "view": update.view,
                "late": update.isLoadedAgain ? "load" : "words",
                "lateTitle": HTMLText.escaped(update.laterMessage.title),
                "lateText": HTMLText.escaped(update.laterMessage.text),
                "test": isLive == false ? "<div id=\"test\">\(escaped(words, "test"))</div>" : "",
                "code": code?.svg(label: words("label.code")) ?? "",
                "notice": rows.notice(notice, words),
                "form": update.form.map { rows.form($0, to: path.form($0), words, notice) } ?? "",
                "details": rows.details(update.payerMessage.details),
                // A page with a form needs no link to the form.
                "links": update.form == nil
                    ? rows.links(onward.map { [$0] } ?? update.payerMessage.links) : "",
                "facts": rows.facts(update.payerMessage.facts),
                "footer": footer(words, update.returnLink, hasWay: onward == nil),
            ],
            in: words
        )
    }

    /// Returns the page for a visitor without a payment's secret, whether or not the payment exists.
    func neutral(in words: PayerWords) -> Response {
        let html = text(
            [
                "state": ReturnState.unknown.rawValue,
                "title": escaped(words, "page.nothing.title"),
                "text": escaped(words, "page.nothing.text"),
            ],
            in: words
        )
        return page.response(html, status: .notFound)
    }

    /// Returns the page for a customer while the state is unknown.
    func unavailable(in words: PayerWords) -> Response {
        let html = text(
            [
                "refresh": "<meta http-equiv=\"refresh\" content=\"5\">",
                "state": ReturnState.waiting.rawValue,
                "title": escaped(words, "page.late.title"),
                "text": escaped(words, "page.late.text"),
            ],
            in: words
        )
        var answer = page.response(html, status: .serviceUnavailable)
        answer.headers[.retryAfter] = "5"
        return answer
    }

    private func text(_ values: [String: String], in words: PayerWords) -> String {
        let ofAll = [
            "language": words.language.htmlTag, "seq": "0",
            "logo": logo, "footer": footer(words),
        ]
        var html = ""
        // In one pass, so that a value is never treated as a placeholder.
        var rest = page.text[...]
        while let open = rest.firstRange(of: "{{"), let close = rest.firstRange(of: "}}") {
            html += rest[..<open.lowerBound]
            let name = String(rest[open.upperBound..<close.lowerBound])
            html += values[name] ?? ofAll[name] ?? ""
            rest = rest[close.upperBound...]
        }
        return html + rest
    }

    private func escaped(_ words: PayerWords, _ key: String) -> String {
        HTMLText.escaped(words(key))
    }

    private var logo: String {
        guard let branding else { return "" }
        let name = HTMLText.escaped(branding.name)
        guard let url = branding.logoURL, Self.policySource(url) != nil else {
            return "<p id=\"shop\">\(name)</p>"
        }
        return "<p id=\"shop\"><img src=\"\(HTMLText.escaped(url))\" alt=\"\(name)\"></p>"
    }

    /// Returns the link to the shop as a button, for a page without further steps: paid, failed, expired.
    ///
    /// On earlier pages a button would lead the payer away from the next step, so the link is in the footer.
    private func onward(_ update: ReturnUpdate, _ words: PayerWords) -> PayerLink? {
        guard update.state.isFinal, update.form == nil, update.payerMessage.links.isEmpty else {
            return nil
        }
        return shopLink(words, update.returnLink)
    }

    /// Returns the link to the shop.
    ///
    /// `returnLink` is specific to this payment.
    private func shopLink(_ words: PayerWords, _ returnLink: ShopReturnLink?) -> PayerLink? {
        let shop = branding.map { ["shop": $0.name] } ?? [:]
        return (returnLink?.url ?? branding?.homeURL).map {
            PayerLink(words("action.back", shop), $0)
        }
    }

    /// Returns the footer: a link to the shop, and the support address.
    ///
    /// It has only the shop's name if the page has a button for the link (`hasWay` is false) or there is no link.
    /// `returnLink` is the return link of this payment.
    private func footer(
        _ words: PayerWords,
        _ returnLink: ShopReturnLink? = nil,
        hasWay: Bool = true
    ) -> String {
        let name = branding.map { HTMLText.escaped($0.name) }
        let way = (hasWay ? shopLink(words, returnLink) : nil).map { link in
            "<a href=\"\(HTMLText.escaped(link.url))\" rel=\"noreferrer\">"
                + "\(HTMLText.escaped(link.label))</a>"
        }
        var lines = [way ?? name].compactMap(\.self)
        if let support = branding?.support?.description {
            let address = HTMLText.escaped(support)
            let question = HTMLText.escaped(words("action.support", ["support": support]))
            lines.append(
                question.replacing(address, with: "<a href=\"mailto:\(address)\">\(address)</a>")
            )
        }
        return lines.joined(separator: "<br>")
    }
}

/// The tables and buttons of the page, with every value escaped.
struct ReturnRows {
    private let copy: String
    private let copied: String

    init(_ words: PayerWords) {
        copy = HTMLText.escaped(words("action.copy"))
        copied = HTMLText.escaped(words("action.copied"))
    }

    /// Returns the details that the customer needs, each with a copy button, which the script enables.
    func details(_ facts: [PayerFact]) -> String {
        table("details", facts) { fact in
            guard let text = fact.copied else { return "" }
            return "<button type=\"button\" hidden data-copy=\"\(HTMLText.escaped(text))\" "
                + "data-copied=\"\(copied)\">\(copy)</button>"
        }
    }

    /// Returns the amount and purpose of the payment.
    func facts(_ facts: [PayerFact]) -> String { table("facts", facts) { _ in "" } }

    /// Returns the links to continue, the first one as the main button.
    func links(_ links: [PayerLink]) -> String {
        guard !links.isEmpty else { return "" }
        let list = links.map { link in
            "<a href=\"\(HTMLText.escaped(link.url))\" rel=\"noreferrer\">"
                + "\(HTMLText.escaped(link.label))</a>"
        }
        return "<p id=\"links\">\(list.joined())</p>"
    }

    private func table(
        _ name: String,
        _ facts: [PayerFact],
        after: (PayerFact) -> String
    ) -> String {
        guard !facts.isEmpty else { return "" }
        let rows = facts.map { fact in
            "<div><dt>\(HTMLText.escaped(fact.label))</dt>"
                + "<dd><span\(fact.isUnbroken ? " class=\"unbroken\"" : "")>"
                + "\(HTMLText.escaped(fact.value))</span>\(after(fact))</dd></div>"
        }
        return "<dl id=\"\(name)\">\(rows.joined())</dl>"
    }
}
