import HTTPTypes
import Hummingbird
import JSONText
import Logging
import PollerDeliveries
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerQueue
import PollerWatches
import PollerWire
import SafeNumbers

/// The return page, where customers see the actual state of their payment after the bank.
///
/// ```
/// GET /r?source=src_…&client_secret=…&redirect_status=…   what Stripe adds to the return URL
///   └─ secret right ─▶ cookie, hint, 303 ─▶ GET /r/src_…      the page, without any secret
///                                           ├─ GET /r/src_…/state?after_seq=…&wait=…  its state as JSON
///                                           ├─ GET /r/src_…/continue   on to the bank, once more
///                                           ├─ POST /r/src_…/verify   the code the customer typed
///                                           └─ POST /r/src_…/refund_account   and the account
/// ```
///
/// `redirect_status` is never trusted. A wrong secret, an unknown payment, and a payment whose secret is not yet known
/// give the same response. These routes need no API key: the client secret authorises access to the public view of one
/// payment.
/// *Source*: <https://docs.stripe.com/sources/best-practices>.
struct ReturnPageRoutes {
    private static let landing = Route(
        .get,
        "/r",
        "returnLanding",
        "Where Stripe sends a customer back to",
        access: .anyClient,
        input: .returnParameters(at: nil),
        answers: pages
    )
    private static let page = Route(
        .get,
        "/r/{source}",
        "returnPage",
        "What became of a customer's payment",
        access: .anyClient,
        input: .returnParameters(at: .payment),
        answers: pages
    )
    private static let state = Route(
        .get,
        "/r/{source}/state",
        "returnState",
        "The current state of a return page",
        access: .anyClient,
        input: .all(
            .payment,
            .text("account", "The account of the watch; default when absent.", .notEmpty),
            .integer("after_seq", "The seq the page has.", in: 0...Int.max),
            .wait("How long to wait for more, at most 60s.")
        ) { (id: $0, account: $1, afterSeq: $2 ?? 0, wait: $3) },
        answers: [
            RouteAnswer(
                status: 200,
                description: "More than the page had.",
                content: ("application/json", .shape("ReturnUpdate"))
            ),
            .notModified("Nothing new."),
        ],
        problems: [400, 404, 503]
    )
    static let pages: [RouteAnswer] = [
        .page(200, "The page; complete without its script."),
        RouteAnswer(
            status: 303,
            description: "To the page without the secret.",
            headers: ["Location": ["schema": ["type": "string"]]]
        ),
        .page(404, "A neutral page: wrong secret or unknown payment alike."),
        .page(503, "A page that is loaded again."),
    ]

    let watches: any WatchStore
    let polls: LongPolls
    let submissions: PayerSubmissions
    let reader: BodyReader
    private let pages: ShopPages<ReturnPage>
    private let lexicon: PayerLexicon
    private let limits = ReturnLimits()
    private let hinted: HintThrottle

    init(
        watches: any WatchStore,
        polls: LongPolls,
        submissions: PayerSubmissions,
        reader: BodyReader,
        branding: @escaping @Sendable () -> [AccountID: Branding],
        words: PayerLexicon,
        clock: any Clock<Duration>
    ) {
        self.watches = watches
        self.polls = polls
        self.submissions = submissions
        self.reader = reader
        pages = ShopPages(of: branding) { ReturnPage($0) }
        lexicon = words
        hinted = HintThrottle(elapsed: clock.stopwatch())
    }

    /// The page without branding.
    var page: ReturnPage { pages.plain }

    var routes: [AnsweredRoute] {
        [
            Self.landing.answered(by: show), Self.page.answered(by: show),
            Self.state.answered(by: state), Self.onward.answered(by: redirectToBank),
            Self.verification.answered(by: verify),
            Self.verificationAgain.answered(by: redirectToPage),
            Self.account.answered(by: submitRefundAccount),
            Self.accountAgain.answered(by: redirectToPage),
        ]
    }

    private func show(
        _ parameters: ReturnParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let words = localizedWords(to: request)
        guard let key = Self.key(parameters.payment, parameters["account"]) else {
            return page.neutral(in: words)
        }
        do throws(StoreError) {
            return try await show(key, parameters, request)
        } catch {
            context.logger.warning("return page without a store", metadata: ["error": "\(error)"])
            return unavailable(of: key.account, to: request)
        }
    }

    private func show(
        _ key: WatchKey,
        _ parameters: ReturnParameters,
        _ request: Request
    ) async throws(StoreError) -> Response {
        let snapshot = try await watches.snapshot(of: key)
        let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
        let secret =
            parameters["client_secret"] ?? parameters["payment_intent_client_secret"]
            ?? parameters["setup_intent_client_secret"]
        if let secret {
            guard ReturnCookie.isSecret(secret, of: snapshot?.watch), let snapshot,
                Self.isSameMode(parameters["livemode"], snapshot)
            else { return page.neutral(in: localizedWords(to: request)) }
            // The customer's return is a hint, since the bank has a result by now.
            if snapshot.opensOnHint, hinted.isDue(key.id, after: ReturnLimits.hintPause) {
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
        else { return page.neutral(in: localizedWords(to: request)) }
        let loads = parameters["n"].flatMap { Int(safe: $0) } ?? 0
        if loads == 0 { await note(.page, of: key) }
        return shown(snapshot, loads: max(0, loads), to: request)
    }

    /// Returns the page for a customer while the store is unavailable, with the shop's branding and a reload.
    ///
    /// The page needs no secret: the URL contains the account, and the page shows nothing of a payment.
    func unavailable(of account: AccountID, to request: Request) -> Response {
        let browserLanguage = PayerLanguage(acceptLanguage: request.headers[.acceptLanguage])
        return pages[account].unavailable(
            in: lexicon[browserLanguage ?? pages.shops[account]?.language ?? .en]
        )
    }

    /// Records the customer's action as a note of the watch, for its timeline.
    func note(_ action: PayerAction, of key: WatchKey) async {
        await watches.tryToNote(WatchNote(.visit, action.rawValue), of: key)
    }

    /// Returns the page of a payment for an authorised customer.
    ///
    /// `loads` is the number of loads without a script, and `notice` is the result of a form submitted just now.
    func shown(
        _ snapshot: WatchSnapshot,
        loads: Int = 0,
        after notice: PayerNotice? = nil,
        to request: Request
    ) -> Response {
        let key = snapshot.watch.key
        let words = localizedWords(to: request, about: snapshot)
        // Three loads without a script take at least ten seconds.
        let update = update(of: snapshot, isFirst: loads < 3, after: notice, in: words)
        return pages[key.account].response(
            update,
            in: words,
            seq: max(0, snapshot.watch.seq - (update.isOutdated ? 1 : 0)),
            isLive: UpstreamObject(snapshot.lastEvent).isLive,
            path: ReturnPaths(key),
            loads: loads,
            notice: notice
        )
    }

    private func update(
        of snapshot: WatchSnapshot,
        isFirst: Bool,
        after notice: PayerNotice? = nil,
        in words: PayerWords
    ) -> ReturnUpdate {
        let key = snapshot.watch.key
        return ReturnUpdate(
            snapshot,
            isFirst: isFirst,
            shop: pages.shops[key.account],
            onward: ReturnPaths(key).onward,
            form: submissions.form(of: snapshot),
            after: notice,
            in: words
        )
    }

    /// Returns the recorded state as soon as it is newer than the page.
    private func state(
        _ input: (id: String, account: String?, afterSeq: Int, wait: Duration),
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let key = Self.key(input.id, input.account) else { throw Self.notFound }
        let afterSeq = input.afterSeq
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
        // A poll that finds no change records no event, so the page soon asks again; while polls fail, it has time.
        let isOutdated = known.map { $0.isOlderThanReturn && $0.lastError == nil } ?? false
        let found = try await polls.first(
            within: isOutdated ? min(input.wait, ReturnLimits.pollWait) : input.wait,
            matching: Interest(in: .watch(key), afterSeq: afterSeq)
        ) { () async throws -> WatchSnapshot? in
            guard let snapshot = try await watches.snapshot(of: key) else { throw Self.notFound }
            let isNew = snapshot.watch.seq > afterSeq && !snapshot.isOlderThanReturn
            return isNew ? snapshot : nil
        }
        guard let found else { return Response(status: .notModified) }
        let update = update(of: found, isFirst: true, in: localizedWords(to: request, about: found))
        var answer = PollerWire.ReturnUpdate()
        answer.state = Open(rawValue: update.state.rawValue)
        answer.seq = found.watch.seq
        answer.title = update.payerMessage.title
        answer.text = update.payerMessage.text
        answer.view = update.view
        answer.payment = update.payment.wire
        answer.nextStep = update.step == .none ? nil : update.step.wire
        answer.isDone = update.state.isFinal
        return Response(answer)
    }

    /// Returns the texts in the customer's language: as given by the shop, else of the browser, else of the shop.
    ///
    /// Before the secret is presented, nothing of the payment may show, including its language.
    func localizedWords(to request: Request, about snapshot: WatchSnapshot? = nil) -> PayerWords {
        let paymentLanguage = snapshot.flatMap { snapshot in
            Purchase.language(
                metadata: snapshot.metadata.isEmpty ? nil : RawJSON(snapshot.metadata),
                object: UpstreamObject(snapshot.lastEvent)
            )
        }
        let browserLanguage = PayerLanguage(acceptLanguage: request.headers[.acceptLanguage])
        let shop = snapshot.flatMap { pages.shops[$0.watch.key.account]?.language }
        return lexicon[paymentLanguage ?? browserLanguage ?? shop ?? .en]
    }

    private static let notFound = Problem(.notFound, "Nothing to show here.")

    /// Returns the payment of a request; `nil` if it names none that this server could know.
    static func key(_ id: String?, _ account: String?) -> WatchKey? {
        let account = account.flatMap { $0.isEmpty ? nil : $0 }
        // Text that is not an ID cannot name a payment.
        guard let id, let source = try? SourceID(id), let kind = SourceKind(inferredFrom: source),
            [.source, .paymentIntent, .setupIntent].contains(kind)
        else { return nil }
        guard let account else { return WatchKey(account: .main, source: source, kind: kind) }
        guard let account = try? AccountID(account) else { return nil }
        return WatchKey(account: account, source: source, kind: kind)
    }

    static func path(_ key: WatchKey) -> String { ReturnPaths(key).page }

    /// Returns whether the URL's `livemode` matches the observed object, if both are known.
    private static func isSameMode(_ livemode: String?, _ snapshot: WatchSnapshot) -> Bool {
        guard let livemode, let isLive = UpstreamObject(snapshot.lastEvent).isLive else {
            return true
        }
        return livemode == String(isLive)
    }

    static func isLocal(_ request: Request) -> Bool {
        let host = (request.head.authority ?? "").prefix { $0 != ":" }
        return ListenAddress.isLoopback(host: host)
    }
}
