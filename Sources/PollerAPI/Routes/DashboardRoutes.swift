import Hummingbird
import Poller

/// The dashboard: one page that shows the cluster in a browser, made of the files in `Dashboard`.
///
/// It holds nothing secret and asks the API like everybody else, with a key when there are keys: so
/// anybody may have the page, and what it shows is behind the same check as everything.
struct DashboardRoutes {
    private static let page = HTMLPage(
        PackageResources.dashboard_html,
        style: PackageResources.dashboard_css,
        script: PackageResources.dashboard_js,
        policy: """
            connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
            frame-ancestors 'none'
            """,
        isListed: true
    )

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
        Self.page.response()
    }
}
