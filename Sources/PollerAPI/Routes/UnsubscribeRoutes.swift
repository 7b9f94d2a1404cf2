import HTTPTypes
import Hummingbird
import Logging
import Poller

/// The links at the end of mails: `GET` asks, `POST` does it.
///
/// RFC 8058 has mail programs post by themselves. The token is the key, to this one wish alone;
/// nothing here is behind an API key.
///
/// Scanners of mails follow links, and some post to them. So a `GET` changes nothing, and a `POST`
/// counts only with the words that RFC 8058 §3.1 asks for, which our button sends, too.
struct UnsubscribeRoutes {
    /// `List-Unsubscribe=One-Click` in either encoding of forms, with room.
    private static let bodyBytesMax = 4096

    private static let ask = Route(
        .get,
        "/u/{token}",
        "unsubscribePage",
        "Ask a customer whether to stop the mails",
        access: .anybody,
        input: .token,
        answers: [
            .page(200, "A page with one button."),
            .page(404, "A neutral page: not a link of ours."),
        ]
    )
    private static let stop = Route(
        .post,
        "/u/{token}",
        "unsubscribe",
        "Stop the mails of one shop to one recipient (RFC 8058 one-click)",
        access: .anybody,
        input: .token,
        body: .raw(
            "application/x-www-form-urlencoded",
            [
                "type": "object", "required": ["List-Unsubscribe"],
                "properties": ["List-Unsubscribe": ["type": "string", "const": "One-Click"]],
            ]
        ),
        answers: [
            .page(200, "The mails have stopped; again is as good as once."),
            .page(400, "The body is not List-Unsubscribe=One-Click."),
            .page(404, "A neutral page: not a link of ours."),
            .page(503, "The store cannot be reached; press again."),
        ],
        audit: .traffic("a recipient's own wish; the suppression says that it was one")
    )

    let preferences: MailPreferences?
    let reader: BodyReader
    private let page = UnsubscribePage()

    init(preferences: MailPreferences?, reader: BodyReader) {
        self.preferences = preferences
        self.reader = reader
    }

    var routes: [AnsweredRoute] {
        [Self.ask.answered(by: ask), Self.stop.answered(by: stop)]
    }

    @Sendable
    private func ask(
        _ token: String,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        entry(token) == nil ? page.neutral() : page.question()
    }

    @Sendable
    private func stop(
        _ token: String,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let body = try await reader.read(request, bytesMax: Self.bodyBytesMax)
        guard let entry = entry(token), let preferences else { return page.neutral() }
        // Scanners of mails post to links, too; only a mail program and our button say this.
        let text = String(decoding: body, as: UTF8.self)
        guard text.contains("List-Unsubscribe"), text.contains("One-Click") else {
            return page.notAsked()
        }
        do throws(StoreError) {
            try await preferences.suppressions.suppress(entry, because: .unsubscribed)
        } catch {
            context.logger.warning("not unsubscribed", metadata: ["error": "\(error)"])
            return page.unavailable()
        }
        return page.done()
    }

    private func entry(_ token: String) -> SuppressionEntry? {
        preferences?.tokens.entry(of: token)
    }
}

extension RouteInput where Value == String {
    /// The token of the path, whatever the query says: mail programs add to links.
    fileprivate static var token: Self {
        segment("token", "The token of a mail's List-Unsubscribe link.").lenient()
    }
}

/// What somebody sees who follows the link at the end of a mail; works without scripts.
///
/// It says nothing of who they are: the link may be in the hands of somebody else.
struct UnsubscribePage {
    private let page = HTMLPage(
        PackageResources.unsubscribe_html,
        policy: "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )

    /// Asks: what a program follows by itself must change nothing.
    func question() -> Response {
        response(
            .ok,
            "No more mails about your payments?",
            "You will not be told by mail any more what became of your payments at this shop.",
            form: """
                <form method="post"><input type="hidden" name="List-Unsubscribe" \
                value="One-Click"><button>No more mails</button></form>
                """
        )
    }

    func done() -> Response {
        response(.ok, "Done", "You will get no more mails about your payments at this shop.")
    }

    /// The same for whatever is no link of ours.
    func neutral() -> Response {
        response(
            .notFound,
            "Nothing to do here",
            "This link is not complete. Copy all of it from the mail, or write to the shop."
        )
    }

    func notAsked() -> Response {
        response(.badRequest, "Not done", "Open the link again and press the button.")
    }

    func unavailable() -> Response {
        var page = response(
            .serviceUnavailable,
            "Not done yet",
            "We cannot write it down at this moment. Please try again in a minute."
        )
        page.headers[.retryAfter] = "30"
        return page
    }

    /// All the words are ours, so none needs escaping.
    private func response(
        _ status: HTTPResponse.Status,
        _ title: String,
        _ text: String,
        form: String = ""
    ) -> Response {
        let html = page.text.replacing("{{title}}", with: title)
            .replacing("{{text}}", with: text).replacing("{{form}}", with: form)
        return page.response(html, status: status)
    }
}
