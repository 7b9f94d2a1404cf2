import HTTPTypes
import Hummingbird
package import PollerIdentity
package import PollerNet

/// The path of its host under which a proxy publishes the API: `/poller`, or empty for the whole host.
///
/// *Problem*: a proxy forwards `https://ops.example/poller/r/src_1` as `/r/src_1`, or unchanged. Payer pages link to
/// further paths, which must have the prefix that the browser uses.
///
/// *Approach*: requests are accepted with the prefix and without. Payer pages include it. The console's URLs are
/// relative and need none. The prefix is the operator's (`base_path`, or the path of `public_url`), or the value of
/// `X-Forwarded-Prefix`, which Traefik and Spring Cloud Gateway send. The header is accepted only from proxies that an
/// operator has configured. Otherwise an attacker could put a prefix into a page that a cache then serves to other
/// users.
package struct BasePath: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length in bytes, longer than any realistic prefix.
    private static let bytesMax = 200

    /// The prefix, such as `/poller`, without a trailing slash; empty for the root.
    package let description: String
    /// Whether a proxy sent the prefix with the request.
    let isForwarded: Bool

    /// No prefix.
    package static let root = BasePath()

    /// The prefix of the current request.
    @TaskLocal static var current = BasePath.root

    private init() {
        description = ""
        isForwarded = false
    }

    /// Parses a prefix such as `/poller`, `poller/` or `/`.
    package init(_ text: String, isForwarded: Bool = false) throws(InvalidInput) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: true)
        let isPlain = parts.allSatisfy { part in
            part != "." && part != ".."
                && part.allSatisfy {
                    $0.isASCII && ($0.isLetter || $0.isNumber || "-._~".contains($0))
                }
        }
        // Two leading slashes would name a host.
        guard isPlain, !text.contains("//"), text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(
                "base_path",
                "must be a path such as /poller, of letters, digits, '-', '.', '_' and '~'"
            )
        }
        description = parts.map { "/\($0)" }.joined()
        self.isForwarded = isForwarded
    }

    /// Creates the prefix from the path of a URL such as `https://ops.example/poller`; the root if there is none.
    package init(ofURL url: String) throws(InvalidInput) {
        let rest = url.drop { $0 != "/" }.dropFirst(2)
        try self.init(String(rest.drop { $0 != "/" }))
    }

    /// Whether the prefix is empty.
    var isRoot: Bool { description.isEmpty }

    /// Returns a request's path without the prefix, or unchanged if it has another one.
    func stripped(_ path: String) -> String {
        guard !isRoot, path.hasPrefix(description) else { return path }
        let rest = path.dropFirst(description.count)
        if rest.hasPrefix("/") { return String(rest) }
        return rest.hasPrefix("?") ? "/\(rest)" : path
    }
}

/// How a proxy publishes the API.
package struct Publication: Sendable {
    let basePath: BasePath
    /// The proxies whose `X-Forwarded-Prefix` is accepted.
    let proxies: [AddressRange]

    /// At the root of its host, without trusted proxies.
    package static let atRoot = Publication(basePath: .root, proxies: [])

    package init(basePath: BasePath, proxies: [AddressRange]) {
        self.basePath = basePath
        self.proxies = proxies
    }
}

/// Removes the prefix from requests, and provides it to the code that creates pages.
struct BasePathResponder<Inner: HTTPResponder>: HTTPResponder where Inner.Context == APIContext {
    let inner: Inner
    let publication: Publication

    func respond(to request: Request, context: APIContext) async throws -> Response {
        let base = forwarded(request, context) ?? publication.basePath
        guard !base.isRoot, let path = request.head.path else {
            return try await inner.respond(to: request, context: context)
        }
        // Without the slash, the console's relative URLs would lose the last segment.
        if path == base.description {
            return Response(
                status: .temporaryRedirect,
                headers: [.location: "\(base)/", .contentLength: "0"]
            )
        }
        var head = request.head
        head.path = base.stripped(path)
        let stripped = Request(head: head, body: request.body)
        return try await BasePath.$current.withValue(base) {
            try await inner.respond(to: stripped, context: context)
        }
    }

    /// Returns the prefix from a trusted proxy.
    ///
    /// Several proxies append theirs after a comma, the outermost first.
    private func forwarded(_ request: Request, _ context: APIContext) -> BasePath? {
        guard !publication.proxies.isEmpty, let name = HTTPField.Name("X-Forwarded-Prefix"),
            let header = request.headers[name], context.isConnected(from: publication.proxies)
        else { return nil }
        let parts = header.split(separator: ",").map { $0.filter { $0 != " " } }
        // An invalid prefix is ignored.
        return try? BasePath(parts.joined(), isForwarded: true)
    }
}
