import Synchronization

/// Sends a customer to a payment page or app and notices the return, without a user interface of its own.
///
/// ```swift
/// guard let context = RedirectContext(source: source, opener: browser, completion: { id, secret, error in
///     // Back, by whatever way: now look at the source, whatever the error says.
/// }) else { return }  // nothing to redirect to
/// await context.startRedirectFlow()
/// ```
///
/// A class, because the app and the browser share it. The first of these ends it, all later ones
/// do nothing: the return URL, the app becoming active again (``RedirectBrowser``), the customer
/// closing the browser, the page failing to load. The completion is called at most once and says
/// nothing about the payment. ``cancel()`` does not call it.
///
/// *Life*: keep it until it has ended, or add it to ``RedirectContexts``, which does. When the last
/// reference goes while it is under way, the page is taken away and nobody is told, as after
/// ``cancel()``: a page whose return nobody hears would stay for ever.
///
/// *Source*: `STPRedirectContext` of stripe-ios and its header.
public final class RedirectContext: Sendable {
    /// Gets the object's id and client secret to look with, and what went wrong on the way.
    public typealias Completion = @Sendable (String, ClientSecret?, RedirectError?) -> Void

    /// How long the return URL may follow the app's becoming active: both come at once, and the URL is to win.
    static let returnGrace = Duration.milliseconds(100)

    /// What the lock guards: how far the redirect has come.
    private struct Progress {
        var state = RedirectState.notStarted
        var browser: RedirectBrowser?
    }

    private let plan: RedirectPlan
    private let opener: any RedirectOpener
    private let clock: any Clock<Duration>
    private let completion: Completion
    private let progress = Mutex(Progress())

    /// Prepares the redirect of a Source; nil for one that sends nobody anywhere.
    ///
    /// That is one with another flow, status or type than those below, or with neither an app's link nor a page.
    ///
    /// - Parameters:
    ///   - source: One with flow `redirect` or type `wechat`, pending or chargeable.
    ///   - opener: Shows pages and opens apps.
    ///   - clock: Measures the moment a return URL has after the app became active.
    ///   - completion: Called once, when the customer is back.
    public convenience init?(
        source: Source,
        opener: any RedirectOpener,
        clock: any Clock<Duration> = ContinuousClock(),
        completion: @escaping Completion
    ) {
        self.init(RedirectPlan(source), opener, clock, completion)
    }

    /// Prepares the redirect of a PaymentIntent; nil for one that sends nobody anywhere.
    ///
    /// - Parameters:
    ///   - paymentIntent: One in `requires_action` whose next action is `redirect_to_url` with two URLs.
    ///   - opener: Shows pages.
    ///   - clock: Measures the moment a return URL has after the app became active.
    ///   - completion: Called once, when the customer is back.
    public convenience init?(
        paymentIntent: PaymentIntent,
        opener: any RedirectOpener,
        clock: any Clock<Duration> = ContinuousClock(),
        completion: @escaping Completion
    ) {
        self.init(RedirectPlan(paymentIntent), opener, clock, completion)
    }

    /// Prepares the redirect of a SetupIntent; as with a PaymentIntent.
    public convenience init?(
        setupIntent: SetupIntent,
        opener: any RedirectOpener,
        clock: any Clock<Duration> = ContinuousClock(),
        completion: @escaping Completion
    ) {
        self.init(RedirectPlan(setupIntent), opener, clock, completion)
    }

    private init?(
        _ plan: RedirectPlan?,
        _ opener: any RedirectOpener,
        _ clock: any Clock<Duration>,
        _ completion: @escaping Completion
    ) {
        guard let plan else { return nil }
        self.plan = plan
        self.opener = opener
        self.clock = clock
        self.completion = completion
    }

    deinit {
        guard progress.withLock({ $0.state }) == .inProgress else { return }
        // A deinit cannot wait, and nobody is left who could: the opener ends the page by itself.
        Task { [opener] in await opener.dismiss() }
    }

    /// How far it got.
    public var state: RedirectState { progress.withLock { $0.state } }

    /// Opens the payment app where there is a link to it, and the page where there is none or it does not open.
    ///
    /// Does nothing unless the state is `notStarted`. WeChat has no page: without its app it completes with
    /// ``RedirectError/appRedirectFailed``.
    ///
    /// - Parameter browser: Where to show the page; inside the app as in the SDK. For payments that are approved
    ///   in a bank's app choose ``RedirectBrowser/system`` unless the opener shows the system's own browser view:
    ///   see ``RedirectBrowser/inApp``.
    public func startRedirectFlow(pageIn browser: RedirectBrowser = .inApp) async {
        guard begin(.system) else { return }
        if let nativeURL = plan.nativeURL, await opener.openApp(nativeURL) { return }
        guard let webURL = plan.webURL, !plan.needsApp else {
            await complete(with: .appRedirectFailed)
            return
        }
        await show(webURL, in: browser)
    }

    /// Shows the page in a browser of the given kind, without trying an app.
    ///
    /// Does nothing unless the state is `notStarted`; without a page it completes with
    /// ``RedirectError/appRedirectFailed``.
    public func start(in browser: RedirectBrowser) async {
        guard begin(browser) else { return }
        guard let webURL = plan.webURL else {
            await complete(with: .appRedirectFailed)
            return
        }
        await show(webURL, in: browser)
    }

    /// Gives up: the page is taken away, and nobody is told.
    ///
    /// Does nothing unless it is in progress.
    public func cancel() async {
        let previous = progress.withLock { progress in
            let previous = progress.state
            if previous == .inProgress { progress.state = .cancelled }
            return previous
        }
        if previous == .inProgress { await opener.dismiss() }
    }

    /// Takes an address the app was opened with.
    ///
    /// - Parameter address: As the system handed it over.
    /// - Returns: Whether it was the return URL of this redirect; any other is left alone.
    @discardableResult
    public func handle(returnURL address: String) async -> Bool {
        guard state == .inProgress, let received = ReturnURL(address),
            plan.returnURLs.contains(where: { $0.matches(received) })
        else { return false }
        await complete(with: nil)
        return true
    }

    /// Takes note that the app is in front again; this ends no ``RedirectBrowser/inApp``, which says why.
    ///
    /// Waits a moment first, so that a return URL that comes with it wins.
    public func appDidBecomeActive() async {
        let isInSystemBrowser = progress.withLock {
            $0.state == .inProgress && $0.browser == .system
        }
        guard isInSystemBrowser else { return }
        // Cancelled: the caller goes away, and so may the grace.
        try? await clock.sleep(for: Self.returnGrace)
        await complete(with: nil)
    }

    /// Takes note that the customer closed the in-app browser: a cancellation, if one was to come back.
    public func browserDidClose() async {
        await complete(with: plan.returnURLs.isEmpty ? nil : .cancellation)
    }

    /// Takes note that the first page did not load.
    ///
    /// Once the customer is at the bank a failed page may be part of its flow, such as a link to an app; so only a
    /// failure on a host of Stripe's ends the redirect.
    /// - Parameter lastHost: The host of the last redirect.
    public func initialLoadDidFail(lastHost: String) async {
        let host = lastHost.lowercased()
        guard host == "stripe.com" || host.hasSuffix(".stripe.com") else { return }
        await complete(with: .connection)
    }

    private func begin(_ browser: RedirectBrowser) -> Bool {
        progress.withLock { progress in
            guard progress.state == .notStarted else { return false }
            progress.state = .inProgress
            progress.browser = browser
            return true
        }
    }

    private func show(_ webURL: String, in browser: RedirectBrowser) async {
        let isInProgress = progress.withLock { progress in
            progress.browser = browser
            return progress.state == .inProgress
        }
        // Cancelled while an app was being tried.
        guard isInProgress else { return }
        guard await opener.openPage(webURL, in: browser) else {
            await complete(with: .openFailed)
            return
        }
    }

    private func complete(with error: RedirectError?) async {
        let isFirst = progress.withLock { progress in
            guard progress.state == .inProgress else { return false }
            progress.state = .completed
            return true
        }
        guard isFirst else { return }
        await opener.dismiss()
        completion(plan.id, plan.clientSecret, error)
    }
}

/// The redirects of an app that are under way, to hand each received address to.
///
/// A class, because the app's parts share it. It keeps each context until it has ended, and lets those that have
/// go with the next address.
public final class RedirectContexts: Sendable {
    /// More redirects than this are not under way in one app: the oldest is let go.
    private static let contextsMax = 1024

    private let contexts = Mutex<[RedirectContext]>([])

    /// Starts with none.
    public init() {}

    /// Adds a redirect.
    public func add(_ context: RedirectContext) {
        contexts.withLock { contexts in
            if contexts.count == Self.contextsMax { contexts.removeFirst() }
            contexts.append(context)
        }
    }

    /// Hands an address to every redirect, not only to the first it belongs to, as the SDK does.
    ///
    /// - Parameter address: As the system handed it over.
    /// - Returns: Whether it was the return URL of any.
    @discardableResult
    public func handle(returnURL address: String) async -> Bool {
        let waiting = contexts.withLock { contexts in
            contexts.removeAll { $0.state == .completed || $0.state == .cancelled }
            return contexts
        }
        var isKnown = false
        for context in waiting where await context.handle(returnURL: address) { isKnown = true }
        return isKnown
    }
}

/// How far a redirect got.
public enum RedirectState: String, Hashable, Sendable {
    /// Nobody has been sent anywhere.
    case notStarted
    /// The customer is away.
    case inProgress
    /// Given up by the app; nobody is told.
    case cancelled
    /// The customer is back, or could not go.
    case completed
}

/// What a customer who comes back brings along in the query.
///
/// Whoever knows the address can write it, and ``redirectStatus`` has been seen to lie: it is a reason to look at
/// the object, never the answer. The client secret proves that it is the same customer.
/// *Source*: <https://docs.stripe.com/sources/ideal> and the other methods' pages.
public struct RedirectResult: Hashable, Sendable {
    /// The Source, `src_…`.
    public let source: String?
    /// The PaymentIntent, `pi_…`.
    public let paymentIntent: String?
    /// The SetupIntent, `seti_…`.
    public let setupIntent: String?
    /// Of whichever object it is.
    public let clientSecret: ClientSecret?
    /// Whether real money is meant; Sources alone say.
    public let livemode: Bool?
    /// `succeeded`, `failed`, `pending` or `processing`; not to be trusted.
    public let redirectStatus: String?

    /// Picks what is known from the items of a query.
    public init(_ items: [String: String]) {
        source = items["source"]
        paymentIntent = items["payment_intent"]
        setupIntent = items["setup_intent"]
        clientSecret = [
            "client_secret", "payment_intent_client_secret", "setup_intent_client_secret",
        ].lazy.compactMap { items[$0] }.first.map { ClientSecret(rawValue: $0) }
        livemode = items["livemode"].flatMap { Bool($0) }
        redirectStatus = items["redirect_status"]
    }
}
