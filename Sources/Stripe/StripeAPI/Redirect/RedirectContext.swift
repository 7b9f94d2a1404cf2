import Synchronization

/// Redirects a customer to a payment page or app and detects the return.
///
/// It has no user interface.
///
/// ```swift
/// guard let context = RedirectContext(source: source, opener: browser, completion: { id, secret, error in
///     // The customer is back: read the Source, regardless of the error.
/// }) else { return }  // the Source needs no redirect
/// await context.startRedirectFlow()
/// ```
///
/// The first of these events ends the redirect, and later ones do nothing: the return URL is received, the app becomes
/// active again (``RedirectBrowser``), the customer closes the browser, the page fails to load. The completion is
/// called at most once and says nothing about the payment. ``cancel()`` does not call it.
///
/// *Lifetime*: keep a reference until the redirect has ended, or add it to ``RedirectContexts``. If the last
/// reference is released while the redirect is in progress, the page is dismissed and the completion is not called,
/// as with ``cancel()``. Otherwise the page would stay open forever.
///
/// *Source*: `STPRedirectContext` of stripe-ios and its header.
public final class RedirectContext: Sendable {
    /// Receives the object's ID, its client secret for reading it, and an error if the redirect failed.
    public typealias Completion = @Sendable (String, ClientSecret?, RedirectError?) -> Void

    /// The time a return URL may arrive after the app becomes active.
    ///
    /// Both come together, and the URL takes precedence.
    static let returnGrace = Duration.milliseconds(100)

    /// The state guarded by the lock.
    private struct Progress {
        var state = RedirectState.notStarted
        var browser: RedirectBrowser?
    }

    private let plan: RedirectPlan
    private let opener: any RedirectOpener
    private let clock: any Clock<Duration>
    private let completion: Completion
    private let progress = Mutex(Progress())

    /// Creates the redirect of a Source; `nil` when it needs no redirect.
    ///
    /// It is `nil` for other flows, statuses or types than those below, and for a Source with neither an app link nor
    /// a page.
    ///
    /// - Parameters:
    ///   - source: A Source with flow `redirect` or type `wechat` that is pending or chargeable.
    ///   - opener: Opens pages and apps.
    ///   - clock: The clock for the short wait for a return URL after the app becomes active.
    ///   - completion: Called once when the customer is back.
    public convenience init?(
        source: Source,
        opener: any RedirectOpener,
        clock: any Clock<Duration> = ContinuousClock(),
        completion: @escaping Completion
    ) {
        self.init(RedirectPlan(source), opener, clock, completion)
    }

    /// Creates the redirect of a PaymentIntent; `nil` when it needs no redirect.
    ///
    /// - Parameters:
    ///   - paymentIntent: A PaymentIntent with status `requires_action`, next action `redirect_to_url` and both URLs.
    ///   - opener: Opens pages.
    ///   - clock: The clock for the short wait for a return URL after the app becomes active.
    ///   - completion: Called once when the customer is back.
    public convenience init?(
        paymentIntent: PaymentIntent,
        opener: any RedirectOpener,
        clock: any Clock<Duration> = ContinuousClock(),
        completion: @escaping Completion
    ) {
        self.init(RedirectPlan(paymentIntent), opener, clock, completion)
    }

    /// Creates the redirect of a SetupIntent, like that of a PaymentIntent.
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
        // A deinitializer cannot await, and no caller is left to do it, so a task dismisses the page.
        Task { [opener] in await opener.dismiss() }
    }

    /// The state of the redirect.
    public var state: RedirectState { progress.withLock { $0.state } }

    /// Opens the payment app if there is a link to it; otherwise, or if it does not open, shows the page.
    ///
    /// Does nothing unless the state is `notStarted`. WeChat has no page: without its app the redirect completes with
    /// ``RedirectError/appRedirectFailed``.
    ///
    /// - Parameter browser: Where to show the page; in the app by default, as in the SDK. For payments approved in a
    ///   banking app use ``RedirectBrowser/system``, unless the opener shows the system's browser view; see
    ///   ``RedirectBrowser/inApp``.
    public func startRedirectFlow(pageIn browser: RedirectBrowser = .inApp) async {
        guard begin(.system) else { return }
        if let nativeURL = plan.nativeURL, await opener.openApp(nativeURL) { return }
        guard let webURL = plan.webURL, !plan.needsApp else {
            await complete(with: .appRedirectFailed)
            return
        }
        await show(webURL, in: browser)
    }

    /// Shows the page in the given browser without trying an app first.
    ///
    /// Does nothing unless the state is `notStarted`. Without a page the redirect completes with
    /// ``RedirectError/appRedirectFailed``.
    public func start(in browser: RedirectBrowser) async {
        guard begin(browser) else { return }
        guard let webURL = plan.webURL else {
            await complete(with: .appRedirectFailed)
            return
        }
        await show(webURL, in: browser)
    }

    /// Cancels the redirect: dismisses the page and does not call the completion.
    ///
    /// Does nothing unless the redirect is in progress.
    public func cancel() async {
        let previous = progress.withLock { progress in
            let previous = progress.state
            if previous == .inProgress { progress.state = .cancelled }
            return previous
        }
        if previous == .inProgress { await opener.dismiss() }
    }

    /// Handles a URL the app was opened with.
    ///
    /// - Parameter address: The URL as received from the system.
    /// - Returns: Whether it was the return URL of this redirect; other URLs are ignored.
    @discardableResult
    public func handle(returnURL address: String) async -> Bool {
        guard state == .inProgress, let received = ReturnURL(address),
            plan.returnURLs.contains(where: { $0.matches(received) })
        else { return false }
        await complete(with: nil)
        return true
    }

    /// Handles the app becoming active, which ends the redirect except with ``RedirectBrowser/inApp``.
    ///
    /// It waits for a moment first, because a return URL that arrives together with it takes precedence.
    public func appDidBecomeActive() async {
        let isInSystemBrowser = progress.withLock {
            $0.state == .inProgress && $0.browser == .system
        }
        guard isInSystemBrowser else { return }
        // If the task is cancelled, the wait may be skipped.
        try? await clock.sleep(for: Self.returnGrace)
        await complete(with: nil)
    }

    /// Handles the customer closing the in-app browser, which is a cancellation if there is a return URL.
    public func browserDidClose() async {
        await complete(with: plan.returnURLs.isEmpty ? nil : .cancellation)
    }

    /// Handles a failure to load the first page.
    ///
    /// At the bank's site a failed page may be part of the flow, for example a link to an app. So only a failure on a
    /// host of Stripe ends the redirect.
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
        // Cancelled while an app was being opened.
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

/// The active redirects of an app, which receive each URL the app is opened with.
///
/// It keeps each context until it has ended; ended contexts are removed with the next URL.
public final class RedirectContexts: Sendable {
    /// The maximum number of redirects; above it the oldest is removed.
    private static let contextsMax = 1024

    private let contexts = Mutex<[RedirectContext]>([])

    /// Creates an empty collection.
    public init() {}

    /// Adds a redirect.
    public func add(_ context: RedirectContext) {
        contexts.withLock { contexts in
            if contexts.count == Self.contextsMax { contexts.removeFirst() }
            contexts.append(context)
        }
    }

    /// Passes a URL to every redirect. (The SDK stops after the first match.)
    ///
    /// - Parameter address: The URL as received from the system.
    /// - Returns: Whether it was the return URL of any redirect.
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

/// The state of a redirect.
public enum RedirectState: String, Hashable, Sendable {
    /// The redirect has not started.
    case notStarted
    /// The customer is at the page or app.
    case inProgress
    /// The app cancelled the redirect; the completion is not called.
    case cancelled
    /// The customer is back, or the page or app could not be opened.
    case completed
}

/// The values in the query of a return URL.
///
/// Anyone who knows the URL can forge them, and ``redirectStatus`` has been wrong in practice. Treat them as a reason
/// to read the object, not as its status. The client secret proves that it is the same customer.
/// *Source*: <https://docs.stripe.com/sources/ideal> and the pages of the other methods.
public struct RedirectResult: Hashable, Sendable {
    /// The Source, `src_…`.
    public let source: String?
    /// The PaymentIntent, `pi_…`.
    public let paymentIntent: String?
    /// The SetupIntent, `seti_…`.
    public let setupIntent: String?
    /// The client secret of the object.
    public let clientSecret: ClientSecret?
    /// Whether the payment is in live mode; only sent for Sources.
    public let livemode: Bool?
    /// `succeeded`, `failed`, `pending` or `processing`; not reliable.
    public let redirectStatus: String?

    /// Reads the known items of a query.
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
