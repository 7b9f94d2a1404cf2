import HTTPTypes
import Hummingbird
import NIOCore

extension SandboxResponder {
    /// Handles `GET /redirect/{id}`, `POST /redirect/{id}/authorize` and `…/fail[?reason=user_abort]`, and the forms
    /// under `/pay/{id}` and `/verify/{id}`.
    func respondPage(_ page: CustomerPage, _ request: Request) async throws -> Response {
        guard let query = try? Form(parsing: (request.uri.query ?? "").utf8) else {
            return Self.html(status: .notFound, CustomerPageHTML.notFound)
        }
        switch (request.method, page.kind, page.button) {
        case (.get, _, nil), (.head, _, nil):
            let content = store.step {
                $0.pageContent(page.id, clientSecret: query["client_secret"])
            }
            guard let content else { break }
            return Self.html(CustomerPageHTML.render(content, page.kind))
        case (.post, .redirect, "authorize"), (.post, .redirect, "fail"):
            let authorised = page.button == "authorize"
            let reason = query["reason"]
            let content = store.step { state in
                state.decide(page.id, authorised: authorised, reason: reason)
            }
            guard let content else { break }
            return Self.seeOther(content.returnURL ?? "/redirect/\(page.id)")
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

    /// Submits the customer's values through the API, which has the rules.
    private func verify(_ page: CustomerPage, _ request: Request) async throws -> Response {
        let body = try await collect(request)
        let base = base(of: request)
        let isSource = page.id.hasPrefix("src_")
        let kind =
            isSource ? "sources" : page.id.hasPrefix("seti_") ? "setup_intents" : "payment_intents"
        let path = "/v1/\(kind)/\(page.id)/" + (isSource ? "verify" : "verify_microdeposits")
        // Sources use another name for the same values.
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
        let content = store.step { state in
            _ = state.answer(call.call.map { state.owned($0, page.id) }, requestID: "req_page")
            return state.pageContent(page.id, clientSecret: nil)
        }
        guard content != nil else { return Self.html(status: .notFound, CustomerPageHTML.notFound) }
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

/// A page URL: the kind of page, the object and the pressed button.
struct CustomerPage {
    enum Kind: String {
        /// Authorise or decline, like the page of a bank or wallet.
        case redirect
        /// Send money to a receiver, like a bank's transfer form.
        case pay
        /// Enter the amounts of micro-deposits.
        case verify
    }

    let kind: Kind
    let id: String
    /// `authorize` or `fail` for `redirect`; otherwise `nil`.
    let button: String?

    /// Parses a path such as `/redirect/src_1/authorize`; `nil` for any other path.
    init?(_ path: String) {
        let segments = path.split(separator: "/", omittingEmptySubsequences: true)
        guard (2...3).contains(segments.count), let first = segments.first,
            let kind = Kind(rawValue: String(first)), let second = segments.dropFirst().first
        else { return nil }
        self.kind = kind
        id = String(second)
        button = segments.dropFirst(2).first.map { String($0) }
        guard kind == .redirect || button == nil else { return nil }
    }
}

/// The test pages that replace a bank: plain forms without scripts or external resources.
enum CustomerPageHTML {
    static func render(_ content: CustomerPageContent, _ kind: CustomerPage.Kind) -> String {
        let id = escape(content.id)
        let facts = content.facts.map { fact in
            "<dt>\(escape(fact.label))</dt><dd>\(escape(fact.text))</dd>"
        }
        return page(
            title: "\(content.title) test payment",
            """
            <p class="kind">\(escape(content.title)) test payment</p>
            <h1>\(escape(content.amount))</h1>
            <p class="id">\(id)</p>
            \(facts.isEmpty ? "" : "<dl>\(facts.joined())</dl>")
            \(content.isOpen ? form(content, kind) : ending(content))
            """
        )
    }

    static var notFound: String {
        page(
            title: "Not found",
            "<h1>No such payment</h1><p>The link is wrong, or the sandbox was restarted.</p>"
        )
    }

    private static func form(_ content: CustomerPageContent, _ kind: CustomerPage.Kind) -> String {
        let id = escape(content.id)
        switch kind {
        case .redirect:
            return """
                <form method="post" action="/redirect/\(id)/authorize">
                <button class="yes">Authorise test payment</button></form>
                <form method="post" action="/redirect/\(id)/fail">
                <button class="no">Fail test payment</button></form>
                """
        case .pay:
            return """
                <form method="post" action="/pay/\(id)">
                <label>Amount in the smallest unit
                <input name="amount" inputmode="numeric" required value="\(content.missing ?? 1)">
                </label><button class="yes">Send test transfer</button></form>
                """
        case .verify:
            return """
                <form method="post" action="/verify/\(id)">
                <label>First amount in cents
                <input name="amounts[]" inputmode="numeric" required placeholder="32"></label>
                <label>Second amount in cents
                <input name="amounts[]" inputmode="numeric" required placeholder="45"></label>
                <button class="yes">Verify test account</button></form>
                """
        }
    }

    private static func ending(_ content: CustomerPageContent) -> String {
        let back = content.returnURL.map { "<p><a href=\"\(escape($0))\">Back to the shop</a></p>" }
        return "<p>Nothing left to do: its status is <b>\(escape(content.status))</b>.</p>"
            + (back ?? "")
    }

    /// Escapes IDs and amounts from requests, so that they cannot become markup.
    ///
    /// Escaping works on Unicode scalars: a quote with a combining accent is one `Character`, but a quote to the
    /// browser.
    static func escape(_ text: String) -> String {
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;".unicodeScalars
            case "<": output += "&lt;".unicodeScalars
            case ">": output += "&gt;".unicodeScalars
            case "\"": output += "&quot;".unicodeScalars
            case "'": output += "&#39;".unicodeScalars
            default: output.append(scalar)
            }
        }
        return String(output)
    }

    private static func page(title: String, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en"><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(escape(title))</title>
        <style>
        body{margin:0;min-height:100vh;display:grid;place-items:center;background:#eef1f6;
        color:#1a2233;font:16px/1.5 system-ui,sans-serif}
        main{background:#fff;padding:2.5rem;border-radius:1rem;text-align:center;width:20rem;
        max-width:80vw;box-shadow:0 1rem 3rem #1a223322}
        .kind{margin:0;color:#5b6478}h1{margin:.2rem 0;font-size:2.2rem}
        .id{margin:0 0 1.5rem;color:#5b6478;font:12px ui-monospace,monospace;overflow-wrap:anywhere}
        dl{margin:0 0 1.5rem;text-align:left;overflow-wrap:anywhere}dt{color:#5b6478;font-size:13px}
        dd{margin:0 0 .5rem;font-weight:600}label{display:block;text-align:left;font-size:13px}
        input{box-sizing:border-box;width:100%;margin:.2rem 0 .6rem;padding:.7rem;font:inherit;
        border:1px solid #8a93a6;border-radius:.6rem;background:#fff;color:#1a2233}
        button{width:100%;margin:.4rem 0;padding:.9rem;border:0;border-radius:.6rem;font:inherit;
        font-weight:600;cursor:pointer}.yes{background:#4353e0;color:#fff}
        .no{background:#eef1f6;color:#8c1d2f}
        button:focus-visible,input:focus-visible{outline:3px solid #f5a524}
        @media(prefers-color-scheme:dark){body{background:#10141d;color:#e8ebf2}
        main{background:#1a2130}.no{background:#2a3346;color:#ff9fae}
        .kind,.id,dt{color:#9aa5bd}input{background:#10141d;color:#e8ebf2}}
        </style>
        <main>
        \(body)
        </main></html>
        """
    }
}
