import HTTPTypes
import Hummingbird
import Logging
import PollerDeliveries
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerQueue

/// The unsubscribe links of emails: `GET` asks, `POST` unsubscribes.
///
/// Mail programs post automatically (RFC 8058). The token authorises this action only, and no API key is needed.
///
/// Mail scanners follow links, and some post to them. So a `GET` changes nothing. A `POST` counts only with the body
/// that RFC 8058 §3.1 requires, which the page's button sends too.
///
/// The page has the branding of the shop and the language of the email, both given in the link: `v=de.Gk0RpQ4x`.
struct UnsubscribeRoutes {
    /// The size limit: `List-Unsubscribe=One-Click` in either form encoding, with a margin.
    private static let bodyBytesMax = 4096

    private static let ask = Route(
        .get,
        "/u/{token}",
        "unsubscribePage",
        "Ask a customer whether to stop the emails",
        access: .anyClient,
        input: .unsubscribeParameters,
        answers: [
            .page(200, "A page with one button."),
            .page(404, "A neutral page: the link is not valid."),
        ]
    )
    private static let stop = Route(
        .post,
        "/u/{token}",
        "unsubscribe",
        "Stop the emails of one shop to one recipient (RFC 8058 one-click)",
        access: .anyClient,
        input: .unsubscribeParameters,
        body: .raw(
            "application/x-www-form-urlencoded",
            [
                "type": "object", "required": ["List-Unsubscribe"],
                "properties": ["List-Unsubscribe": ["type": "string", "const": "One-Click"]],
            ]
        ),
        answers: [
            .page(200, "The emails have stopped. A repeat has no further effect."),
            .page(400, "The body is not List-Unsubscribe=One-Click."),
            .page(404, "A neutral page: the link is not valid."),
            .page(503, "The store is unavailable; press the button again."),
        ],
        audit: .traffic("a recipient's own request, which the suppression records")
    )

    let preferences: MailPreferences?
    let reader: BodyReader
    private let now: @Sendable () -> Timestamp
    private let pages: ShopPages<UnsubscribePage>
    private let lexicon: PayerLexicon

    init(
        preferences: MailPreferences?,
        branding: @escaping @Sendable () -> [AccountID: Branding],
        words: PayerLexicon,
        reader: BodyReader,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.preferences = preferences
        pages = ShopPages(of: branding) { UnsubscribePage($0) }
        lexicon = words
        self.reader = reader
        self.now = now
    }

    var routes: [AnsweredRoute] {
        [Self.ask.answered(by: ask), Self.stop.answered(by: stop)]
    }

    private func ask(
        _ parameters: UnsubscribeParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let shown = shown(to: parameters, request)
        return shown.page.response(shown.entry == nil ? .nothing : .question, in: shown.words)
    }

    private func stop(
        _ parameters: UnsubscribeParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let body = try await reader.read(request, bytesMax: Self.bodyBytesMax)
        let shown = shown(to: parameters, request)
        guard let entry = shown.entry, let preferences else {
            return shown.page.response(.nothing, in: shown.words)
        }
        // Mail scanners post to links too. Only mail programs and the page's button send this body.
        let text = String(decoding: body, as: UTF8.self)
        guard text.contains("List-Unsubscribe"), text.contains("One-Click") else {
            return shown.page.response(.again, in: shown.words)
        }
        do throws(StoreError) {
            try await preferences.suppressions.suppress(
                entry,
                because: .unsubscribed,
                noting: SuppressionNote(
                    masked: preferences.tokens.masked(ofHint: parameters.hint, in: entry),
                    account: shown.account,
                    at: now()
                )
            )
        } catch {
            context.logger.warning("not unsubscribed", metadata: ["error": "\(error)"])
            return shown.page.response(.later, in: shown.words)
        }
        return shown.page.response(.done, in: shown.words)
    }

    /// Returns the suppression entry, account, page and texts of a link.
    private func shown(
        to parameters: UnsubscribeParameters,
        _ request: Request
    ) -> (entry: SuppressionEntry?, account: AccountID?, page: UnsubscribePage, words: PayerWords) {
        let entry = preferences?.tokens.entry(of: parameters.token)
        let shops = pages.shops
        let account = entry.flatMap { entry in
            preferences?.tokens.account(parameters.sender, of: entry, among: shops.keys)
        }
        let language =
            parameters.language ?? PayerLanguage(acceptLanguage: request.headers[.acceptLanguage])
            ?? account.flatMap { shops[$0]?.language } ?? .en
        return (entry, account, account.map { pages[$0] } ?? pages.plain, lexicon[language])
    }
}

/// The parameters of an unsubscribe link.
struct UnsubscribeParameters: Sendable {
    /// The token, which names the emails to stop.
    let token: String
    /// The language of the email; `nil` for a link without one.
    let language: PayerLanguage?
    /// The sender of the emails, as encoded by ``UnsubscribeTokens``.
    let sender: String
    /// The masked recipient, encrypted by ``UnsubscribeTokens``; empty in links of earlier emails.
    let hint: String

    fileprivate init(token: String, view: String?) {
        let parts = (view ?? "").split(
            separator: ".",
            maxSplits: 2,
            omittingEmptySubsequences: false
        ).map(String.init)
        self.token = token
        language = parts.first.flatMap { PayerLanguage(rawValue: $0) }
        sender = parts.dropFirst().first ?? ""
        hint = parts.dropFirst(2).first ?? ""
    }
}

extension RouteInput where Value == UnsubscribeParameters {
    /// The token in the path, and the parameters of the link.
    ///
    /// Parameters that a mail program has added are ignored.
    fileprivate static var unsubscribeParameters: Self {
        all(
            RouteInput<String>.segment("token", "The token of a mail's List-Unsubscribe link."),
            RouteInput<String?>.text("v", "The language and the account of the email.")
        ) { UnsubscribeParameters(token: $0, view: $1) }.lenient()
    }
}

/// The page of an unsubscribe link, which works without scripts.
///
/// There is one page per shop, as for the return page, because the policy depends on the logo. It does not show the
/// recipient, since the link may be forwarded.
struct UnsubscribePage: Sendable {
    /// The state of the page, which names its texts.
    enum State: String {
        /// Asks for confirmation, because programs follow links automatically.
        case question
        case done
        /// The link is not valid.
        case nothing
        /// A post without the confirmation of a click.
        case again
        /// The store is unavailable.
        case later

        fileprivate var status: HTTPResponse.Status {
            switch self {
            case .question, .done: .ok
            case .nothing: .notFound
            case .again: .badRequest
            case .later: .serviceUnavailable
            }
        }
    }

    private let page: HTMLPage
    private let branding: Branding?

    /// Creates the page of a shop; `nil` for a page without branding.
    init(_ branding: Branding? = nil) {
        self.branding = branding
        var html = EmbeddedTexts.unsubscribe_html
        let colour = branding?.colour ?? "#3b4754"
        html = html.replacing("{{colour}}", with: colour)
            .replacing("{{ink}}", with: PayerColour.ink(on: colour))
        let picture = branding?.logoURL.flatMap(ReturnPage.policySource)
        page = HTMLPage(
            html,
            policy: (picture.map { "img-src \($0); " } ?? "")
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
    }

    func response(_ state: State, in words: PayerWords) -> Response {
        let shop = branding.map { ["shop": $0.name] } ?? [:]
        func text(_ key: String) -> String {
            HTMLText.escaped(words("unsubscribe.\(key)", shop))
        }
        let form = """
            <form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">\
            <button>\(text("question.button"))</button></form>
            """
        let values = [
            "language": words.language.htmlTag, "title": text("\(state.rawValue).title"),
            "text": text("\(state.rawValue).text"), "form": state == .question ? form : "",
            "shop": masthead,
        ]
        // In one pass, so that a value is never treated as a placeholder.
        var (html, rest) = ("", page.text[...])
        while let open = rest.firstRange(of: "{{"), let close = rest.firstRange(of: "}}") {
            html += rest[..<open.lowerBound]
            html += values[String(rest[open.upperBound..<close.lowerBound])] ?? ""
            rest = rest[close.upperBound...]
        }
        var answer = page.response(html + rest, status: state.status)
        if state == .later { answer.headers[.retryAfter] = "30" }
        return answer
    }

    private var masthead: String {
        guard let branding else { return "" }
        let name = HTMLText.escaped(branding.name)
        guard let url = branding.logoURL, ReturnPage.policySource(url) != nil else {
            return "<p id=\"shop\">\(name)</p>"
        }
        return "<p id=\"shop\"><img src=\"\(HTMLText.escaped(url))\" alt=\"\(name)\"></p>"
    }
}
