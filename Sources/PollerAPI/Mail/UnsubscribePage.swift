import Crypto
import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What somebody sees who follows the link at the end of a mail; works without scripts.
///
/// It says nothing of who they are: the link may be in the hands of somebody else.
struct UnsubscribePage {
    private let template: String
    private let policy: String

    init() {
        let template = String(decoding: PackageResources.unsubscribe_html, as: UTF8.self)
        let style =
            template.firstRange(of: "<style>").flatMap { open in
                template.firstRange(of: "</style>").map { close in
                    template[open.upperBound..<close.lowerBound]
                }
            } ?? ""
        self.template = template
        let digest = Data(SHA256.hash(data: Array(style.utf8))).base64EncodedString()
        policy = """
            default-src 'none'; style-src 'sha256-\(digest)'; form-action 'self'; \
            base-uri 'none'; frame-ancestors 'none'
            """
    }

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
        let html = template.replacing("{{title}}", with: title)
            .replacing("{{text}}", with: text).replacing("{{form}}", with: form)
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
}
