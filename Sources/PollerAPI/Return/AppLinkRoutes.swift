import HTTPTypes
import Hummingbird
import NIOCore
import PollerPayments

/// The files by which phones learn that an app may open `/r` of this server.
///
/// Apple and Google fetch them without a key, follow no redirect, and accept only `application/json`. The content is
/// the operator's configuration, byte for byte. Without it, the response is 404.
struct AppLinkRoutes {
    private static let apple = Route(
        .get,
        "/.well-known/apple-app-site-association",
        "appleAppSiteAssociation",
        "Which iOS apps links to this server open",
        access: .anyClient,
        answers: [file("As Apple describes it.")],
        problems: [404]
    )
    private static let android = Route(
        .get,
        "/.well-known/assetlinks.json",
        "assetLinks",
        "Which Android apps links to this server open",
        access: .anyClient,
        answers: [file("As Google describes it.")],
        problems: [404]
    )

    /// The current configuration.
    let links: @Sendable () -> AppLinks

    var routes: [AnsweredRoute] {
        [
            Self.apple.answered { [links] _, _, _ in
                try Self.response(links().apple, option: "apple_app_site_association")
            },
            Self.android.answered { [links] _, _, _ in
                try Self.response(links().android, option: "asset_links")
            },
        ]
    }

    private static func file(_ description: String) -> RouteAnswer {
        RouteAnswer(status: 200, description: description, content: ("application/json", [:]))
    }

    private static func response(_ text: String?, option: String) throws(Problem) -> Response {
        guard let text else {
            throw Problem(.notFound, "There is none here; the option \(option) has it.")
        }
        return Response(
            status: .ok,
            // The caches of Apple and Google refresh after a day at most.
            headers: [.contentType: "application/json", .cacheControl: "public, max-age=3600"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}
