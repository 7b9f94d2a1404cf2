import HTTPTypes
import Hummingbird
import NIOCore

extension SandboxResponder {
    /// `GET /redirect/{id}`, `POST /redirect/{id}/authorize` and `…/fail[?reason=user_abort]`, and the forms under
    /// `/pay/{id}` and `/verify/{id}`.
    func respondPage(_ page: CustomerPage, _ request: Request) async throws -> Response {
        guard let query = try? Form(parsing: (request.uri.query ?? "").utf8) else {
            return Self.html(status: .notFound, CustomerPageHTML.notFound)
        }
        switch (request.method, page.kind, page.button) {
        case (.get, _, nil), (.head, _, nil):
            let visit = store.step { $0.visit(page.id, clientSecret: query["client_secret"]) }
            guard let visit else { break }
            return Self.html(CustomerPageHTML.render(visit, page.kind))
        case (.post, .redirect, "authorize"), (.post, .redirect, "fail"):
            let authorised = page.button == "authorize"
            let reason = query["reason"]
            let visit = store.step { state in
                state.decide(page.id, authorised: authorised, reason: reason)
            }
            guard let visit else { break }
            return Self.seeOther(visit.returnURL ?? "/redirect/\(page.id)")
        case (.post, .pay, nil):
            let form = try? Form(parsing: try await collect(request).readableBytesView)
            let amount = form.flatMap { try? $0.positive("amount") } ?? nil
            guard let amount else {
                return Self.html(status: .badRequest, CustomerPageHTML.notFound)
            }
            guard store.step({ $0.transfer(page.id, amount: amount) }) != nil else { break }
            return Self.seeOther("/pay/\(page.id)")
        case (.post, .verify, nil):
            return try await verify(page, request)
        default: break
        }
        return Self.html(status: .notFound, CustomerPageHTML.notFound)
    }

    /// Sends what the customer typed through the API, which knows the rules.
    private func verify(_ page: CustomerPage, _ request: Request) async throws -> Response {
        let body = try await collect(request)
        let base = base(of: request)
        let isSource = page.id.hasPrefix("src_")
        let kind =
            isSource ? "sources" : page.id.hasPrefix("seti_") ? "setup_intents" : "payment_intents"
        let path = "/v1/\(kind)/\(page.id)/" + (isSource ? "verify" : "verify_microdeposits")
        // Sources call the same values by another name.
        let text = String(buffer: body)
        let fields = isSource ? text.replacing("amounts", with: "values") : text
        let head = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: nil,
            path: path,
            headerFields: [.authorization: "Bearer sk_test_page"]
        )
        let call = APIRequest(
            head,
            path: path,
            query: nil,
            body: ByteBuffer(string: fields),
            base: base
        )
        let visit = store.step { state in
            _ = state.answer(call.call.map { state.owned($0, page.id) }, requestID: "req_page")
            return state.visit(page.id, clientSecret: nil)
        }
        guard visit != nil else { return Self.html(status: .notFound, CustomerPageHTML.notFound) }
        return Self.seeOther("/verify/\(page.id)")
    }

    private static func seeOther(_ location: String) -> Response {
        Response(status: .seeOther, headers: [.location: location])
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
