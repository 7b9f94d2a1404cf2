import HTTPTypes
import Hummingbird
import Poller
package import PollerIdentity
package import PollerNet

/// The path of its host below which a proxy publishes the API: `/poller`, or nothing for the whole host.
///
/// *Problem*: a proxy passes `https://ops.example/poller/r/src_1` on as `/r/src_1`, or as it is. The pages of payers
/// lead to further addresses, which must have the prefix that the browser knows.
///
/// *Approach*: requests are understood with the prefix and without. The pages of payers name it; the console's
/// addresses are relative and need none. The prefix is the operator's (`base_path`, else the path of `public_url`), or
/// what a proxy says in `X-Forwarded-Prefix`, as Traefik and Spring Cloud Gateway do. Only proxies that an operator has
/// named are believed: a cache would keep for others what a stranger has written into a page.
package struct BasePath: Hashable, Sendable, CustomStringConvertible {
    /// Longer than anybody's.
    private static let bytesMax = 200

    /// `/poller`, without a slash at its end; empty for the root.
    package let description: String
    /// Whether a proxy has told it with the request.
    let isForwarded: Bool

    /// No prefix.
    package static let root = BasePath()

    /// That of the request which is being answered.
    @TaskLocal static var current = BasePath.root

    private init() {
        description = ""
        isForwarded = false
    }

    /// Reads `/poller`, `poller/` or `/`.
    package init(_ text: String, isForwarded: Bool = false) throws(InvalidInput) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: true)
        let isPlain = parts.allSatisfy { part in
            part != "." && part != ".."
                && part.allSatisfy {
                    $0.isASCII && ($0.isLetter || $0.isNumber || "-._~".contains($0))
                }
        }
        // Two slashes at the beginning would name a host.
        guard isPlain, !text.contains("//"), text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(
                field: "base_path",
                message: "must be a path such as /poller, of letters, digits, '-', '.', '_' and '~'"
            )
        }
        description = parts.map { "/\($0)" }.joined()
        self.isForwarded = isForwarded
    }

    /// The path of an address such as `https://ops.example/poller`; the root where there is none.
    package init(ofURL url: String) throws(InvalidInput) {
        let rest = url.drop { $0 != "/" }.dropFirst(2)
        try self.init(String(rest.drop { $0 != "/" }))
    }

    /// Whether it is no prefix.
    var isRoot: Bool { description.isEmpty }

    /// A request's path without it; as it is where it does not begin so.
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
    /// Those whose `X-Forwarded-Prefix` is believed.
    let proxies: [AddressRange]

    /// At the root of its host, whatever a proxy says.
    package static let atRoot = Publication(basePath: .root, proxies: [])

    /// Describes it.
    package init(basePath: BasePath, proxies: [AddressRange]) {
        self.basePath = basePath
        self.proxies = proxies
    }
}

/// Takes the prefix off requests, and tells what makes pages of it.
struct BasePathResponder<Inner: HTTPResponder>: HTTPResponder where Inner.Context == APIContext {
    let inner: Inner
    let publication: Publication

    func respond(to request: Request, context: APIContext) async throws -> Response {
        let base = forwarded(request, context) ?? publication.basePath
        guard !base.isRoot, let path = request.head.path else {
            return try await inner.respond(to: request, context: context)
        }
        // Relative addresses of the console would lose the last segment.
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

    /// What a proxy that is trusted says; several proxies add theirs by comma, the outermost first.
    private func forwarded(_ request: Request, _ context: APIContext) -> BasePath? {
        guard !publication.proxies.isEmpty, let name = HTTPField.Name("X-Forwarded-Prefix"),
            let said = request.headers[name], context.comes(from: publication.proxies)
        else { return nil }
        let parts = said.split(separator: ",").map { $0.filter { $0 != " " } }
        // One that is none is as good as none.
        return try? BasePath(parts.joined(), isForwarded: true)
    }
}
