import HTTPTypes
import Hummingbird
import Poller

/// The page a customer comes back to, made of the files in `ReturnPage`.
///
/// Complete without its script, which only keeps it up to date: until a final state the page asks
/// to be loaded again. Whatever the page shows goes in as escaped text.
struct ReturnPage {
    /// How often a page without a script is loaded again, and how often at most: then it says so.
    private static let refreshSeconds = 4
    private static let refreshesMax = 150

    private let page = HTMLPage(
        PackageResources.return_html,
        style: PackageResources.return_css,
        script: PackageResources.return_js,
        policy: "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    /// The page of a payment.
    ///
    /// `path` is the page's own clean address and `loads` how often it was loaded without a
    /// script.
    func response(
        _ news: ReturnNews,
        seq: Int,
        isLive: Bool?,
        branding: Branding?,
        path: (state: String, page: String),
        loads: Int
    ) -> Response {
        var refresh = ""
        if !news.state.isFinal, loads < Self.refreshesMax {
            let next = path.page + (path.page.contains("?") ? "&" : "?") + "n=\(loads + 1)"
            refresh =
                "<noscript><meta http-equiv=\"refresh\" "
                + "content=\"\(Self.refreshSeconds);url=\(HTMLPage.escaped(next))\"></noscript>"
        }
        return response(
            [
                "refresh": refresh,
                "state": news.state.rawValue,
                "title": HTMLPage.escaped(news.title),
                "text": HTMLPage.escaped(news.text),
                "seq": String(seq),
                "watch": news.state.isFinal ? "" : HTMLPage.escaped(path.state),
                "test": isLive == false ? "<div id=\"test\">Test mode: no money moves</div>" : "",
                "footer": Self.footer(branding),
            ],
            status: .ok
        )
    }

    /// What everybody sees who has not shown a payment's secret, whether there is one or not.
    func neutral() -> Response {
        response(
            [
                "state": ReturnState.unknown.rawValue,
                "title": "Nothing to show here",
                "text": "If you have just paid, do not pay again: the shop will tell you what "
                    + "became of it.",
            ],
            status: .notFound
        )
    }

    /// What a customer sees while we cannot know.
    func unavailable() -> Response {
        var page = response(
            [
                "refresh": "<meta http-equiv=\"refresh\" content=\"5\">",
                "state": ReturnState.waiting.rawValue,
                "title": ReturnNews.late.title,
                "text": ReturnNews.late.text,
            ],
            status: .serviceUnavailable
        )
        page.headers[.retryAfter] = "5"
        return page
    }

    private func response(
        _ values: [String: String],
        status: HTTPResponse.Status
    ) -> Response {
        var html = ""
        // In one pass, so that no value is taken for a place of another.
        var rest = page.text[...]
        while let open = rest.firstRange(of: "{{"), let close = rest.firstRange(of: "}}") {
            html += rest[..<open.lowerBound]
            let name = String(rest[open.upperBound..<close.lowerBound])
            html += values[name] ?? Self.fallback[name] ?? ""
            rest = rest[close.upperBound...]
        }
        html += rest
        return page.response(html, status: status)
    }

    private static let fallback = [
        "lateTitle": HTMLPage.escaped(ReturnNews.late.title),
        "lateText": HTMLPage.escaped(ReturnNews.late.text),
        "seq": "0",
    ]

    private static func footer(_ branding: Branding?) -> String {
        guard let branding else { return "" }
        let name = HTMLPage.escaped(branding.name)
        guard let url = branding.homeURL else { return name }
        return "<a href=\"\(HTMLPage.escaped(url))\" rel=\"noreferrer\">Back to \(name)</a>"
    }
}
