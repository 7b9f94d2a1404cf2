import HTTPTypes
import Hummingbird
import JSONText
import PollerIdentity
import PollerNet
import Synchronization

/// The address of the API as seen by the client that requests the description.
///
/// The host is that of the request, so a description read through a proxy names the proxy. The scheme is `https` if
/// this server has certificates, or if a trusted proxy sends that in `X-Forwarded-Proto`.
struct OpenAPIServer: Sendable {
    /// Whether clients connect directly to this server by TLS.
    let isTLS: Bool
    let publication: Publication

    /// Returns the address without a trailing slash, or the document's own directory if the request names no host.
    func url(of request: Request, _ context: APIContext) -> String {
        let host = request.head.authority ?? ""
        let isPlain = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~:[]".utf8.contains(byte)
            }
        }
        guard isPlain, !host.isEmpty else { return "." }
        return "\(scheme(of: request, context))://\(host)\(BasePath.current)"
    }

    private func scheme(of request: Request, _ context: APIContext) -> String {
        guard let name = HTTPField.Name("X-Forwarded-Proto"), let header = request.headers[name],
            !publication.proxies.isEmpty, context.isConnected(from: publication.proxies)
        else { return isTLS ? "https" : "http" }
        // Each proxy appends its value after a comma, so the outermost proxy is first.
        let outermost = header.split(separator: ",").first.map { $0.filter { $0 != " " } }
        return outermost == "https" ? "https" : "http"
    }
}

/// The description as text, built once, with a placeholder for the server's address.
struct OpenAPIText: Sendable {
    /// The placeholder for the address in the document.
    static let placeholder = "@server@"

    private let head: String
    private let tail: String

    /// Splits a document at its placeholder.
    init(_ document: SchemaNode) {
        let text = document.text
        let mark = JSONWriter.literal(Self.placeholder)
        let range = text.firstRange(of: mark) ?? (text.endIndex..<text.endIndex)
        head = String(text[..<range.lowerBound])
        tail = String(text[range.upperBound...])
    }

    /// Returns the document with this address.
    func text(for url: String) -> String { head + JSONWriter.literal(url) + tail }
}

/// Both forms of the description, each built when it is first requested.
///
/// Few processes are asked for it, and building it takes a fifth of the CPU time of a start.
final class OpenAPITexts: Sendable {
    private let routes: [RouteDescription]
    private let built = Mutex<[Bool: OpenAPIText]>([:])

    init(of routes: [RouteDescription]) { self.routes = routes }

    /// Returns the description, with or without the pages for people.
    func text(withPages: Bool) -> OpenAPIText {
        built.withLock { built in
            if let text = built[withPages] { return text }
            let text = OpenAPIText(OpenAPI.document(of: routes, withPages: withPages))
            built[withPages] = text
            return text
        }
    }
}
