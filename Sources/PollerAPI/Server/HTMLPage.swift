import Crypto
import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A page for people, with a content security policy that fits it.
///
/// *Problem.* A page shows what others have written, the text of an error, a shop's name. Escaping is
/// enough until somebody forgets it once, and then the page runs what it shows, beside a key of the API
/// or a customer's payment.
///
/// *Approach.* A page has one style and at most one script, both ours, both in it; its policy names
/// their digests and forbids everything else. Whatever else found its way in would not run, nor load or
/// send anything anywhere. Rejected: files of their own and `'self'`, which would let anything run that
/// can be had from this host, and needs two requests more.
/// *Source*: CSP level 2, §4.2.
struct HTMLPage: Sendable {
    /// The page as it is sent, but for what a route puts into it.
    let text: String
    private let headers: HTTPFields

    /// Puts a page together; once, not for each request.
    ///
    /// - Parameters:
    ///   - html: the page; `/* style.css */` and `/* script.js */` stand for the two below.
    ///   - style: nil when it is in the page already.
    ///   - script: nil when it has none.
    ///   - policy: what is allowed and forbidden beside style and script.
    ///   - isListed: whether search engines may keep it.
    init(
        _ html: [UInt8],
        style: [UInt8]? = nil,
        script: [UInt8]? = nil,
        policy: String,
        isListed: Bool = false
    ) {
        var text = String(decoding: html, as: UTF8.self)
        for (place, part) in [("/* style.css */", style), ("/* script.js */", script)] {
            guard let part else { continue }
            text = text.replacing(place, with: String(decoding: part, as: UTF8.self))
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

    /// An answer with the page, or with what a route has made of it.
    func response(_ html: String? = nil, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: html ?? text))
        )
    }

    /// What a policy calls the one element of a name; nil when the page has none.
    private static func digest(of element: String, in text: String) -> String? {
        guard let open = text.firstRange(of: "<\(element)>"),
            let close = text.firstRange(of: "</\(element)>")
        else { return nil }
        let digest = SHA256.hash(data: Array(text[open.upperBound..<close.lowerBound].utf8))
        return "sha256-" + Data(digest).base64EncodedString()
    }
}
