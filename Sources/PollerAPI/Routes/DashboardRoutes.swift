import Crypto
import HTTPTypes
import Hummingbird
import Poller

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The dashboard: one page that shows the cluster in a browser, made of the files in `Dashboard`.
///
/// It holds nothing secret and asks the API like everybody else, with a key when there are keys.
/// Its content security policy names the digests of its one style and its one script: whatever
/// else found its way into the page would not run, nor load or send anything anywhere else.
struct DashboardRoutes {
    private static let page = Page()

    private static let dashboard = Route(
        .get,
        "/",
        "dashboard",
        "The cluster in a browser",
        access: .anybody,
        answers: [.page(200, "A page that asks for a key when the server has keys.")]
    )

    var routes: [AnsweredRoute] {
        [Self.dashboard.answered(by: dashboard)]
    }

    @Sendable
    private func dashboard(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        Response(
            status: .ok,
            headers: Self.page.headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: Self.page.html))
        )
    }

    /// The page put together, with the policy that fits it.
    private struct Page {
        let html: String
        let headers: HTTPFields

        init() {
            let style = String(decoding: PackageResources.dashboard_css, as: UTF8.self)
            let script = String(decoding: PackageResources.dashboard_js, as: UTF8.self)
            html = String(decoding: PackageResources.dashboard_html, as: UTF8.self)
                .replacing("/* dashboard.css */", with: style)
                .replacing("/* dashboard.js */", with: script)
            headers = [
                .contentType: "text/html; charset=utf-8",
                .contentSecurityPolicy: """
                default-src 'none'; style-src '\(Self.digest(style))'; \
                script-src '\(Self.digest(script))'; connect-src 'self'; img-src data:; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
                .referrerPolicy: "no-referrer",
            ]
        }

        /// A source expression of CSP level 2, §4.2.
        private static func digest(_ text: String) -> String {
            "sha256-" + Data(SHA256.hash(data: Array(text.utf8))).base64EncodedString()
        }
    }
}
