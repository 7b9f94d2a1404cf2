import HTTPTypes
import Hummingbird
import NIOCore

extension SandboxResponder {
    /// `GET /redirect/{id}`, `POST /redirect/{id}/authorize` and `…/fail[?reason=user_abort]`.
    func respondRedirect(_ request: Request, _ path: String) async throws -> Response {
        let segments = path.split(separator: "/").dropFirst().map(String.init)
        guard let id = segments.first, let form = try? Form(parsing: (request.uri.query ?? "").utf8)
        else { return Self.html(status: .notFound, RedirectPage.notFound) }
        switch (request.method, segments.dropFirst().first) {
        case (.get, nil), (.head, nil):
            let visit = store.step { $0.visit(id, clientSecret: form["client_secret"]) }
            guard let visit else { return Self.html(status: .notFound, RedirectPage.notFound) }
            return Self.html(RedirectPage.render(visit))
        case (.post, "authorize"), (.post, "fail"):
            let authorised = segments[1] == "authorize"
            let reason = form["reason"]
            let visit = store.step { $0.decide(id, authorised: authorised, reason: reason) }
            guard let visit else { return Self.html(status: .notFound, RedirectPage.notFound) }
            return Response(status: .seeOther, headers: [.location: visit.returnURL])
        default:
            return Self.html(status: .notFound, RedirectPage.notFound)
        }
    }

    private static func html(status: HTTPResponse.Status = .ok, _ text: String) -> Response {
        Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8",
                .cacheControl: "no-store",
                .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}
