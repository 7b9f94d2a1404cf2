import HTTPTypes
import Hummingbird
import PollerIdentity
import PollerOperations
import PollerWire

/// Signs a browser in to the console, and out (``ConsoleSessions``).
struct SessionRoutes {
    private static let begin = Route(
        .post,
        "/v1/session",
        "beginSession",
        "Sign a browser in to the console with the current key",
        """
        The response sets a cookie that replaces the key in requests with the header Poller-Console from the same \
        origin, until the browser closes or twelve hours have passed. Programs send their key with each request \
        instead.
        """,
        // Every role may read watches, so every key may sign in.
        access: .key(.readWatches),
        idempotency: .inherent("each request sets a new cookie and changes nothing"),
        answers: [.ok("The key's holder.", "Caller")],
        audit: .traffic("signing in changes nothing; later actions are audited"),
        usesStore: false
    )
    private static let end = Route(
        .delete,
        "/v1/session",
        "endSession",
        "Sign a browser out of the console",
        """
        Requires no key, so that a browser with a revoked key or too many requests can remove the cookie. A \
        request from another site is rejected.
        """,
        access: .anyClient,
        idempotency: .inherent("a signed-out browser stays signed out"),
        answers: [RouteAnswer(status: 204, description: "The cookie is removed.")],
        problems: [400],
        audit: .traffic("signing out changes nothing"),
        usesStore: false
    )

    let sessions: ConsoleSessions
    /// Returns the current time, for the start of a session.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] { [Self.begin.answered(by: begin), Self.end.answered(by: end)] }

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

    private func end(_: Void, _ request: Request, _ context: APIContext) async throws -> Response {
        guard ConsoleSessions.isOfSameOrigin(request) else {
            throw Problem(.notAllowed, "Only the console's own pages can sign a browser out.")
        }
        var response = Response(status: .noContent)
        response.headers[values: .setCookie] = ConsoleSessions.endings(request)
        return response
    }
}
