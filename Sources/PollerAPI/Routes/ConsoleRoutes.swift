import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import PollerIdentity
import PollerWire

/// The console: a web page built from the files in `Console`.
///
/// The page contains no secrets and uses the API like any other client, with a key if the server has keys. So the page
/// and its scripts are public, and its data is protected by the API.
///
/// *Policy.* The page's only style is inline, allowed by digest. Its scripts are modules in separate files that import
/// each other, so the policy allows this host. That is equally strict, because this host serves no other script: every
/// other response is JSON or a page, with `nosniff`. No script of the page can create markup from text
/// (`require-trusted-types-for`).
struct ConsoleRoutes {
    private static let page = made(basedOn: "'none'")
    /// The page with a `<base>`, for a proxy that forwards its prefix and may omit the slash after it.
    private static let basedPage = made(basedOn: "'self'")

    private static func made(basedOn base: String) -> HTMLPage {
        HTMLPage(
            EmbeddedTexts.console_html,
            style: EmbeddedTexts.console_css,
            policy: """
                script-src 'self'; connect-src 'self'; img-src data:; base-uri \(base); \
                form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                trusted-types 'none'
                """,
            isListed: true
        )
    }

    private static let console = Route(
        .get,
        "/",
        "dashboard",
        "The console, for a browser",
        access: .anyClient,
        answers: [.page(200, "A page that requests a key if the server has keys.")]
    )
    private static let script = Route(
        .get,
        "/console/{file}",
        "consoleScript",
        "A script of the console",
        access: .anyClient,
        input: .segment("file", "The file name.", .matching("^[a-z]{1,20}[.]js$")),
        answers: [
            RouteAnswer(
                status: 200,
                description: "The module.",
                content: ("text/javascript", ["type": "string"])
            ),
            .notModified("The script still has this ETag."),
        ],
        problems: [404]
    )

    var routes: [AnsweredRoute] {
        [Self.console.answered(by: console), Self.script.answered(by: script)]
    }

    private func console(_: Void, _ context: APIContext) async throws -> Response {
        let base = BasePath.current
        guard base.isForwarded else { return Self.page.response() }
        let page = Self.basedPage
        let element = "<base href=\"\(base)/\">"
        return page.response(page.text.replacing("<!-- base -->", with: element))
    }

    private func script(
        _ name: String,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let script = ConsoleScript.all[name] else {
            throw Problem(.notFound, "The console has no such script; GET / is its page.")
        }
        // Revalidated at every visit, and sent again only after an update of the server.
        let headers: HTTPFields = [.eTag: script.tag, .cacheControl: "no-cache"]
        guard request.headers[.ifNoneMatch] != script.tag else {
            return Response(status: .notModified, headers: headers)
        }
        return Response(
            status: .ok,
            headers: headers + [.contentType: "text/javascript; charset=utf-8"],
            body: ResponseBody(byteBuffer: script.text)
        )
    }
}

/// A module of the console.
struct ConsoleScript: Sendable {
    let text: ByteBuffer
    /// The `ETag`, which depends on the text.
    let tag: String

    private init(_ source: String) {
        text = ByteBuffer(string: source)
        let digest = SHA256.hash(data: Array(source.utf8)).prefix(12)
        tag = "\"\(Base64URL.encode(Array(digest)))\""
    }

    /// Every module, by the name that others import.
    static let all: [String: ConsoleScript] = EmbeddedTexts.byFile
        .merging(["currencies.js": currencies]) { $1 }
        // The return page contains its own script.
        .filter { $0.key.hasSuffix(".js") && $0.key != "return.js" }
        .mapValues(ConsoleScript.init)

    /// The table of ``CurrencyUnit`` as a module.
    private static let currencies: String = {
        func list(_ codes: Set<String>) -> String {
            "new Set(\"\(codes.sorted().joined(separator: " "))\".split(\" \"))"
        }
        return """
            // Made by the server from its table of currencies.

            /** Counted in whole units. */
            export const zeroDecimal = \(list(CurrencyUnit.zeroDecimal));
            /** Counted in thousandths. */
            export const threeDecimal = \(list(CurrencyUnit.threeDecimal));
            /** Counted in hundredths that are always zero. */
            export const wholeInHundredths = \(list(CurrencyUnit.wholeInHundredths));

            """
    }()
}
