import Crypto
import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A page for people, with a matching content security policy.
///
/// *Problem.* A page shows untrusted text, such as an error message or a shop's name. Escaping is sufficient until one
/// place forgets it. The page would then run injected code, next to an API key or a customer's payment.
///
/// *Approach.* A page has one inline style and at most one inline script. Its policy allows their digests and forbids
/// everything else, so injected code can neither run nor load or send anything. Rejected: separate files and `'self'`,
/// which would allow any file of this host as a script, and need two more requests.
/// *Source*: CSP level 2, §4.2.
struct HTMLPage: Sendable {
    /// The text of the page, without the values that a route inserts.
    let text: String
    private let headers: HTTPFields

    /// Creates a page, once and not per request.
    ///
    /// - Parameters:
    ///   - html: the page, with placeholders `/* style.css */` and `/* script.js */`.
    ///   - style: the style; `nil` if the page already contains it.
    ///   - script: the script; `nil` for none.
    ///   - policy: further directives in addition to style and script.
    ///   - isListed: whether search engines may index the page.
    init(
        _ html: String,
        style: String? = nil,
        script: String? = nil,
        policy: String,
        isListed: Bool = false
    ) {
        var text = html
        for (placeholder, part) in [("/* style.css */", style), ("/* script.js */", script)] {
            guard let part else { continue }
            text = text.replacing(placeholder, with: part)
        }
        self.text = text
        var directives = "default-src 'none'; "
        for element in ["style", "script"] {
            guard let digest = Self.digest(of: element, in: text) else { continue }
            directives += "\(element)-src '\(digest)'; "
        }
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8",
            .contentSecurityPolicy: directives + policy,
            .referrerPolicy: "no-referrer",
        ]
        if !isListed { headers[.robotsTag] = "noindex" }
        self.headers = headers
    }

    /// Returns a response with the page, or with the text that a route has created from it.
    func response(_ html: String? = nil, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: html ?? text))
        )
    }

    /// Returns the policy source of the only element with a name; `nil` if the page has none.
    private static func digest(of element: String, in text: String) -> String? {
        guard let open = text.firstRange(of: "<\(element)>"),
            let close = text.firstRange(of: "</\(element)>")
        else { return nil }
        let digest = SHA256.hash(data: Array(text[open.upperBound..<close.lowerBound].utf8))
        return "sha256-" + Data(digest).base64EncodedString()
    }
}
