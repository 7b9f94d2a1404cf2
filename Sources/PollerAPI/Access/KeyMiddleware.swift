import HTTPTypes
import Hummingbird
import NIOCore
import PollerIdentity
import PollerNet
import PollerOperations

/// Checks that a request may use the matched route; see ``RouteAccess``.
///
/// The router's matched route decides, never the text of the path, because a route has many spellings. A request
/// without a matching route also needs a key, so that a forgotten route is closed.
///
/// Without keys, a page in the user's browser must still not reach the API. It could rebind its name to 127.0.0.1, so
/// the requested host must be local. It could send a simple cross-site request, so the Origin, if present, must be this
/// server's: another local program may serve pages that an attacker controls. Requests forwarded by a proxy on this
/// machine are rejected too. Forms of payer pages send the Origin `null`, because these pages send no referrer. It is
/// accepted for requests that need the payer's own secret, which a page of another site cannot send.
///
/// Ownership is checked when an object is read (``RequestValues/caller``), not here. An object of another account gives
/// the same response as one that does not exist.
struct KeyMiddleware: RouterMiddleware {
    let keys: KeyRing
    let cursors: SealedCursors
    let audit: RequestAudit?
    let rates: RequestRates
    let table: RouteTable
    /// Whether the listener uses TLS, and so `https` in its origin.
    let isSecure: Bool
    /// Decrypts the cookies of the console.
    let sessions: ConsoleSessions

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.cursors = cursors
        context.audit = audit
        let route = table.matched(context.endpointPath, request.method)
        // A rejected webhook would delay a change, and its signature limits abuse, so webhooks are exempt. All other
        // requests are counted before the key lookup.
        if route?.access != .signed { try rates.admit(address: context.waiter.address) }
        switch route?.access {
        case .signed: return try await next(request, context)
        case .anyClient:
            if keys.isOpen ?? false { try checkLocal(request, takesNoOrigin: true) }
            return try await next(request, context)
        case .key, nil: break
        }
        (context.caller, context.presentedKey) = try identity(of: request)
        if context.caller != .local { try rates.admit(key: context.caller.name) }
        context.recheck = { [self, head = request] () throws(Problem) in
            _ = try identity(of: head)
        }
        context.revocation = { [keys, name = context.caller.name] in keys.revocation(of: name) }
        if let route, let scope = route.access.scope {
            do throws(Problem) {
                try context.caller.require(scope)
            } catch {
                await audit?.record(failed: error, route, context)
                throw error
            }
        }
        var request = request
        // A body or a long poll may take half a minute, and the key may be revoked meanwhile.
        request.body = RequestBody(
            asyncSequence: CheckedBody(body: request.body, check: context.recheck)
        )
        let response = try await next(request, context)
        if request.method == .get { try context.recheck() }
        return response
    }

    /// Returns the caller of the request and the key that it presents.
    ///
    /// The key is in `Authorization`, or else in the cookie of the console. It is empty if there are no keys.
    private func identity(
        of request: Request
    ) throws(Problem) -> (caller: Caller, presentedKey: String) {
        switch keys.isOpen {
        case true?:
            try checkLocal(request)
            return (.local, "")
        case nil: throw Self.unreadable
        case false?: break
        }
        guard let header = request.headers[.authorization] else {
            if let key = sessions.key(of: request, at: keys.now()) {
                switch keys.find(key) {
                case .known(let caller): return (caller, key)
                case .unreadable: throw Self.unreadable
                case .unknown: break
                }
            }
            throw Problem(
                .unauthenticated,
                "Send Authorization: Bearer KEY with a key from pollerctl key create, "
                    + "or from the server's POLLER_API_KEYS_FILE."
            )
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        if parts.count == 2, let scheme = parts.first, let key = parts.last,
            scheme.lowercased() == "bearer"
        {
            switch keys.find(key) {
            case .known(let caller): return (caller, String(key))
            case .unreadable: throw Self.unreadable
            case .unknown: break
            }
        }
        throw Problem(
            .unauthenticated,
            "The key is unknown, expired or revoked. Create one with pollerctl key create."
        )
    }

    private static let unreadable = Problem(
        .storeUnavailable,
        "The server has not loaded its keys yet. Send the request again.",
        retryAfterSeconds: 1
    )

    private func checkLocal(
        _ request: Request,
        takesNoOrigin: Bool = false
    ) throws(Problem) {
        let requestedHosts =
            [request.head.authority].compactMap(\.self) + request.headers[values: .otherHost]
        let origins = request.headers[values: .origin].filter { !takesNoOrigin || $0 != "null" }
        let isLocal =
            LocalRequest.isLocal(
                hosts: requestedHosts,
                headers: request.headers.map(\.name.canonicalName)
            )
            && origins.allSatisfy { origin in
                guard let origin = WebOrigin(origin) else { return false }
                return requestedHosts.allSatisfy { origin.isServed(at: $0, isSecure: isSecure) }
            }
        guard isLocal else {
            throw Problem(
                .notLocal,
                "This server has no API keys. It serves only http://127.0.0.1 and "
                    + "localhost, its own pages, and no requests forwarded by a proxy. To "
                    + "serve others, create a key with pollerd key create."
            )
        }
    }
}

/// A body that checks the key again at its end.
private struct CheckedBody: AsyncSequence, Sendable {
    let body: RequestBody
    let check: @Sendable () throws(Problem) -> Void

    /// Passes the body on, part by part.
    struct AsyncIterator: AsyncIteratorProtocol {
        var parts: RequestBody.AsyncIterator
        let check: @Sendable () throws(Problem) -> Void

        mutating func next() async throws -> ByteBuffer? {
            try await next(isolation: #isolation)
        }

        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ByteBuffer? {
            if let part = try await parts.next(isolation: actor) { return part }
            try check()
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(parts: body.makeAsyncIterator(), check: check)
    }
}

extension Caller {
    /// Throws if the caller lacks a permission.
    func require(_ scope: Scope) throws(Problem) {
        guard may(scope) else {
            let why =
                scope.isOfCluster && !accounts.isAll
                ? "which no key limited to accounts can have" : "which this key has not"
            throw Problem(
                .notAllowed,
                "This request requires \(scope.rawValue), \(why). Use another key, or "
                    + "create one with this permission: pollerctl key create."
            )
        }
    }

    /// Throws if the caller may not access an account, with the message for an unknown account.
    func require(_ account: AccountID) throws(Problem) {
        guard accounts.contains(account) else {
            throw Problem(
                .accountNotFound,
                "There is no account \(account) for this key.",
                field: "account"
            )
        }
    }

    /// Throws if a caller bound to accounts requests cluster-wide events.
    ///
    /// `field` names the request field.
    func requireClusterAccess(in field: String) throws(Problem) {
        guard accounts.isAll else {
            throw Problem(
                .notAllowed,
                "operator.… events are about the whole cluster, and this key is limited "
                    + "to accounts. Use a key for all accounts, or leave out these types.",
                field: field
            )
        }
    }

    /// Returns an idempotency key scoped to the caller, because a response may hold a secret.
    func scopedKey(_ idempotencyKey: String) -> String {
        self == .local ? idempotencyKey : "\(name)\n\(idempotencyKey)"
    }

    /// Returns the account of a request: the given one, or the caller's default.
    func account(named account: AccountID?) throws(Problem) -> AccountID {
        if let account {
            try require(account)
            return account
        }
        guard let standard = accounts.standard else {
            let all = (accounts.names ?? []).joined(separator: ", ")
            throw Problem.missing("account", "is required, because this key has several: \(all).")
        }
        return standard
    }
}
