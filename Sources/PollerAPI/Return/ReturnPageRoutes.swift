import HTTPTypes
import Hummingbird
import Logging
import Poller

/// Where customers come back to from their bank, and see what really became of their payment.
///
/// ```
/// GET /r?source=src_…&client_secret=…&redirect_status=…   what Stripe adds to the return URL
///   └─ secret right ─▶ cookie, hint, 303 ─▶ GET /r/src_…      the page, without any secret
///                                           └─ GET /r/src_…/state?after_seq=…&wait=…  its news
/// ```
///
/// `redirect_status` is never believed. A wrong secret, an unknown payment and one that was
/// enqueued without its secret look the same. Nothing here is behind an API key: the client secret
/// is the key, to the public view of one payment alone.
/// *Source*: FACTS §2.4; <https://docs.stripe.com/sources/best-practices>.
struct ReturnPageRoutes {
    /// What Stripe adds to a return URL, and ours.
    private static let landing = [
        "source", "payment_intent", "setup_intent", "client_secret",
        "payment_intent_client_secret", "setup_intent_client_secret", "livemode",
        "redirect_status", "account", "n",
    ]

    let watches: any WatchStore
    let polls: LongPolls
    let branding: [AccountID: Branding]
    private let page = ReturnPage()
    private let limits = ReturnLimits()
    private let clock: any Clock<Duration>
    private let hinted: HintThrottle

    init(
        watches: any WatchStore,
        polls: LongPolls,
        branding: [AccountID: Branding],
        clock: any Clock<Duration>
    ) {
        self.watches = watches
        self.polls = polls
        self.branding = branding
        self.clock = clock
        hinted = HintThrottle(elapsed: clock.stopwatch())
    }

    func add(to router: Router<APIContext>) {
        router.add(.returnLanding, show)
        router.add(.returnPage, show)
        router.add(.returnState, state)
    }

    @Sendable
    private func show(_ request: Request, _ context: APIContext) async throws -> Response {
        // A customer gets a page, whatever else somebody has put into the address.
        let query = Self.values(request)
        guard let key = Self.key(query, context) else { return page.neutral() }
        do throws(StoreError) {
            return try await show(key, query, request)
        } catch {
            context.logger.warning("return page without a store", metadata: ["error": "\(error)"])
            return page.unavailable()
        }
    }

    private func show(
        _ key: WatchKey,
        _ query: [String: String],
        _ request: Request
    ) async throws(StoreError) -> Response {
        let snapshot = try await watches.snapshot(of: key)
        let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
        let secret =
            query["client_secret"] ?? query["payment_intent_client_secret"]
            ?? query["setup_intent_client_secret"]
        if let secret {
            guard ReturnCookie.isSecret(secret, of: snapshot?.watch), let snapshot,
                Self.isSameMode(query["livemode"], snapshot)
            else { return page.neutral() }
            // The return is a hint: the bank has an answer by now.
            let opens = snapshot.closed?.opensOnHint ?? true
            if opens, hinted.isDue(key.id, after: ReturnLimits.hintPause) {
                _ = try await watches.hint(key)
            }
            return Response(
                status: .seeOther,
                headers: [
                    .location: Self.path(key), .setCookie: proof.cookie(secret),
                    .referrerPolicy: "no-referrer",
                ]
            )
        }
        guard proof.isProven(by: request.headers[.cookie], of: snapshot?.watch), let snapshot
        else { return page.neutral() }
        let loads = query["n"].flatMap(Int.init) ?? 0
        return page.response(
            // Three loads without a script are ten seconds and more.
            ReturnNews(snapshot, isFirst: loads < 3),
            seq: snapshot.watch.seq,
            isLive: ReturnNews.isLive(snapshot),
            branding: branding[key.account],
            path: (Self.path(key, "/state"), Self.path(key)),
            loads: max(0, loads)
        )
    }

    /// What is recorded, as soon as it is more than the page has.
    @Sendable
    private func state(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(request, allowed: ["account", "after_seq", "wait"])
        guard let key = Self.key(["account": query.text("account") ?? ""], context) else {
            throw Self.notFound
        }
        let wait = try query.wait()
        let afterSeq = try query.integer("after_seq", in: 0...Int.max) ?? 0
        let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
        let known = try await watches.snapshot(of: key)
        guard proof.isProven(by: request.headers[.cookie], of: known?.watch) else {
            throw Self.notFound
        }
        guard limits.enter(key.id) else {
            throw Problem(
                .tooManyWaiters,
                "\(ReturnLimits.waitersMax) pages of this payment wait already; close some, or try later.",
                retryAfterSeconds: 5
            )
        }
        defer { limits.leave(key.id) }
        let found = try await polls.first(within: wait) { entry in
            entry.event.key.id == key.id && entry.event.seq > afterSeq
        } read: { () async throws -> WatchSnapshot? in
            guard let snapshot = try await watches.snapshot(of: key) else { throw Self.notFound }
            return snapshot.watch.seq > afterSeq ? snapshot : nil
        }
        guard let found else { return Response(status: .notModified) }
        let news = ReturnNews(found, isFirst: true)
        var json = JSONObject()
        json.add("state", news.state.rawValue)
        json.add("seq", found.watch.seq)
        json.add("title", news.title)
        json.add("text", news.text)
        json.add("done", news.state.isFinal)
        return Response(json: json.text)
    }

    private static let notFound = Problem(.notFound, "Nothing to show here.")

    /// The payment an address names; nil when it names none we could know.
    private static func key(_ query: [String: String], _ context: APIContext) -> WatchKey? {
        let id =
            context.parameters.get("source") ?? query["source"] ?? query["payment_intent"]
            ?? query["setup_intent"]
        let account = query["account"].flatMap { $0.isEmpty ? nil : $0 }
        // Whatever is no id is nobody's payment.
        guard let id, let source = try? SourceID(id), let kind = SourceKind(inferredFrom: source),
            [.source, .paymentIntent, .setupIntent].contains(kind)
        else { return nil }
        guard let account else { return WatchKey(account: .main, source: source, kind: kind) }
        guard let account = try? AccountID(account) else { return nil }
        return WatchKey(account: account, source: source, kind: kind)
    }

    /// The parameters that mean something here, the first of each name.
    private static func values(_ request: Request) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in request.uri.queryParameters where landing.contains(String(name)) {
            values[String(name)] = values[String(name)] ?? String(value)
        }
        return values
    }

    private static func path(_ key: WatchKey, _ tail: String = "") -> String {
        let account = key.account == .main ? "" : "?account=\(key.account)"
        return "/r/\(key.source)\(tail)\(account)"
    }

    /// Whether an address's `livemode` agrees with the object seen; it must when both are known.
    private static func isSameMode(_ livemode: String?, _ snapshot: WatchSnapshot) -> Bool {
        guard let livemode, let isLive = ReturnNews.isLive(snapshot) else { return true }
        return livemode == String(isLive)
    }

    private static func isLocal(_ request: Request) -> Bool {
        let host = (request.head.authority ?? "").prefix { $0 != ":" }
        return ListenAddress.isLoopback(host: host)
    }
}
