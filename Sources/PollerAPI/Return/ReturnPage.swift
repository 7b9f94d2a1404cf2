import Crypto
import HTTPTypes
import Hummingbird
import Poller

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The page a customer comes back to, made of the files in `ReturnPage`.
///
/// Complete without its script, which only keeps it up to date: until a final state the page asks
/// to be loaded again. Its policy names the digests of its one style and its one script; whatever
/// the page shows goes in as escaped text.
struct ReturnPage {
    /// How often a page without a script is loaded again, and how often at most: then it says so.
    private static let refreshSeconds = 4
    private static let refreshesMax = 150

    private let template: String
    private let policy: String

    init() {
        let style = String(decoding: PackageResources.return_css, as: UTF8.self)
        let script = String(decoding: PackageResources.return_js, as: UTF8.self)
        template = String(decoding: PackageResources.return_html, as: UTF8.self)
            .replacing("/* return.css */", with: style)
            .replacing("/* return.js */", with: script)
        policy = """
            default-src 'none'; style-src '\(Self.digest(style))'; \
            script-src '\(Self.digest(script))'; connect-src 'self'; base-uri 'none'; \
            form-action 'none'; frame-ancestors 'none'
            """
    }

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
                + "content=\"\(Self.refreshSeconds);url=\(Self.escaped(next))\"></noscript>"
        }
        return response(
            [
                "refresh": refresh,
                "state": news.state.rawValue,
                "title": Self.escaped(news.title),
                "text": Self.escaped(news.text),
                "seq": String(seq),
                "watch": news.state.isFinal ? "" : Self.escaped(path.state),
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
        var rest = template[...]
        while let open = rest.firstRange(of: "{{"), let close = rest.firstRange(of: "}}") {
            html += rest[..<open.lowerBound]
            let name = String(rest[open.upperBound..<close.lowerBound])
            html += values[name] ?? Self.fallback[name] ?? ""
            rest = rest[close.upperBound...]
        }
        html += rest
        return Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8",
                .contentSecurityPolicy: policy,
                .referrerPolicy: "no-referrer",
                .robotsTag: "noindex",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html))
        )
    }

    private static let fallback = [
        "lateTitle": escaped(ReturnNews.late.title), "lateText": escaped(ReturnNews.late.text),
        "seq": "0",
    ]

    private static func footer(_ branding: Branding?) -> String {
        guard let branding else { return "" }
        let name = escaped(branding.name)
        guard let url = branding.homeURL else { return name }
        return "<a href=\"\(escaped(url))\" rel=\"noreferrer\">Back to \(name)</a>"
    }

    /// Text for HTML, in elements and in quoted attributes alike.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
            .replacing("'", with: "&#39;")
    }

    /// A source expression of CSP level 2, §4.2.
    private static func digest(_ text: String) -> String {
        "sha256-" + Data(SHA256.hash(data: Array(text.utf8))).base64EncodedString()
    }
}
