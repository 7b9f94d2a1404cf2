import HTTPTypes
import Hummingbird
import Poller
import PollerIdentity
import PollerWire

/// Signs a browser in to the console, and out (``ConsoleSessions``).
struct SessionRoutes {
    private static let begin = Route(
        .post,
        "/v1/session",
        "beginSession",
        "Sign a browser in to the console with the key of this request",
        """
        The answer sets a cookie that stands for the key in requests with the header Poller-Console, from the same \
        origin, until the browser ends or twelve hours are over. Programs send their key with each request instead.
        """,
        // Every role may read watches, so every key may sign in.
        access: .key(.readWatches),
        repeats: .byNature("each makes a cookie of its own, and changes nothing"),
        answers: [.ok("The key's holder.", "Caller")],
        audit: .traffic("signing in changes nothing; what is done then is audited"),
        usesStore: false
    )
    private static let end = Route(
        .delete,
        "/v1/session",
        "endSession",
        "Sign a browser out of the console",
        """
        Needs no key, so that whoever is signed in with a revoked one, or asks too often, gets rid of the cookie. A \
        request that the browser calls another site's is refused.
        """,
        access: .anybody,
        repeats: .byNature("who is signed out stays so"),
        answers: [RouteAnswer(status: 204, description: "The cookie is removed.")],
        problems: [400],
        audit: .traffic("signing out changes nothing"),
        usesStore: false
    )

    let sessions: ConsoleSessions
    /// Returns the current time, for the start of a session.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] { [Self.begin.answered(by: begin), Self.end.answered(by: end)] }

    @Sendable
    private func begin(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        var response = Response(KeyHolder(context.caller))
        let parts = (request.headers[.authorization] ?? "").split(separator: " ", maxSplits: 1)
        // Without a key there is nothing to encrypt: the server has no keys, or the browser is signed in already.
        if parts.count == 2, context.caller != .local,
            let cookie = sessions.cookie(String(parts[1]), for: request, at: now())
        {
            response.headers[.setCookie] = cookie
        }
        return response
    }

    @Sendable
    private func end(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard ConsoleSessions.isOfSameOrigin(request) else {
            throw Problem(.notAllowed, "Only the console's own pages sign a browser out.")
        }
        var response = Response(status: .noContent)
        response.headers[values: .setCookie] = ConsoleSessions.endings(request)
        return response
    }
}
