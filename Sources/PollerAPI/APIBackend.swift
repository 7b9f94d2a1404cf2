package import Poller
package import PollerIdentity
package import PollerNet
package import PollerQueue
package import PollerWords

/// What the routes work on: the seams of `Poller`, whatever stands behind them.
package struct APIBackend: Sendable {
    package let watches: any WatchStore
    /// What accounts have and may have.
    package let accounts: AccountBackend
    package let orders: any OrderStore
    package let deliveries: any DeliveryQueue & DeliveryBook & LaneControl
    package let outbox: any Outbox
    package let lanes: any LaneControl
    package let members: any Membership
    /// What holds now for lanes without a limit of their own.
    package let laneLimit: @Sendable () -> LaneLimit
    package let feed: any EventFeed
    /// Whether the store can be read now; nil where no check of the store exists.
    package let isStoreReachable: (@Sendable () -> Bool)?
    /// The registered endpoints.
    package let endpoints: EndpointBackend
    package let checks: [any HealthCheck]
    /// Writes and reads the cursors of `/v1/events`.
    package let cursors: any EventCursors
    /// Makes the cursors of lists unreadable for those who may not see everything.
    package let sealing: SealedCursors
    /// Signs the lines of archives, and recognises them.
    package let archives: ArchiveKeys
    /// The keys that are made and revoked here; nil where there is no store of them.
    package let keys: (any KeyStore)?
    /// What was changed by whom; nil where nobody keeps it.
    package let trail: (any AuditTrail)?
    /// What the cluster did; nil where nobody keeps it.
    package let activity: (any ActivityStore)?
    /// What operators are told of; nil where nobody keeps it.
    package let incidents: (any IncidentStore)?
    /// Entries that have ended several processes; nil where no store keeps them.
    package let setAside: (any SuspectStore)?
    /// Which webhooks of the upstream are refused; nil where no store keeps that.
    package let refusals: (any WebhookHealthStore)?
    /// Sets aside replays that end their processes.
    package let suspects: PoisonGuard
    /// The requests that clients have named, and what seals their answers; nil where nobody keeps them.
    package let requests: (store: any NamedRequests, seals: RequestSeals)?
    /// Takes Stripe's webhooks; nil when none are expected.
    package let webhooks: (any WebhookIntake)?
    /// Makes tokens for the live gateway; nil when there is none.
    package let streamTokens: (any StreamTokenIssuer)?
    /// Tells whose source a URL is; nil when sources are named by id alone.
    package let locator: (any SourceLocator)?
    /// Tells the upstream what payers have told us; nil when there is none to tell.
    package let payers: (any PayerUpstream)?
    /// Reads disputes from the upstream; `nil` for upstreams without disputes.
    package let disputes: (any DisputeBook)?
    /// Seals API keys into the cookies of browsers.
    package let sessions: ConsoleSessions
    /// Tells what is done before deadlines pass; nil when that is nobody's to tell.
    package let deadlines: DeadlineForecast?
    /// The suppression list of mail; nil when nobody keeps a list.
    package let mail: MailPreferences?
    /// Whose return page it is now, by account; a page without a name where there is none.
    package let branding: @Sendable () -> [AccountID: Branding]
    /// Which apps links to this server open now.
    package let appLinks: @Sendable () -> AppLinks
    /// What the return page says.
    package let words: PayerLexicon
    /// Where requests to enqueue are told to, for traces; nil where nothing is traced.
    package let tracer: (any WorkTracer)?

    /// Puts a backend together.
    ///
    /// - Parameters:
    ///   - watches: the queue of watches.
    ///   - accounts: what accounts have and may have.
    ///   - orders: what is known of orders; in the queue of watches too.
    ///   - deliveries: the queue of deliveries.
    ///   - outbox: the recorded events.
    ///   - lanes: the lanes of `watches`.
    ///   - members: who works on this cluster.
    ///   - laneLimit: tells what holds for lanes without a limit of their own.
    ///   - feed: wakes long polls; when it does not run, they answer at their timeout.
    ///   - isStoreReachable: whether the store can be read now; nil where no check of the store exists.
    ///   - endpoints: the registered endpoints.
    ///   - checks: what the doctor looks at besides the cluster itself.
    ///   - cursors: the live gateway's, when there is one; nil for cursors without a signature.
    ///   - sealing: makes the cursors of lists unreadable for those who may not see everything.
    ///   - archives: signs the lines of archives, and recognises them.
    ///   - keys: the keys that are made and revoked here.
    ///   - trail: what was changed by whom; nil where nobody keeps it.
    ///   - activity: what the cluster did; nil where nobody keeps it.
    ///   - incidents: what operators are told of; nil where nobody keeps it.
    ///   - setAside: entries that have ended several processes; nil where no store keeps them.
    ///   - refusals: which webhooks of the upstream are refused; nil where no store keeps that.
    ///   - suspects: sets aside replays that end their processes.
    ///   - requests: the requests that clients have named, and what seals their answers; nil where nobody
    ///     keeps them.
    ///   - webhooks: takes Stripe's webhooks; nil when none are expected.
    ///   - streamTokens: makes tokens for the live gateway; nil when there is none.
    ///   - mail: the suppression list of mail; nil when nobody keeps a list.
    ///   - locator: tells whose source a URL is; nil when sources are named by id alone.
    ///   - payers: tells the upstream what payers have told us; nil when there is none to tell.
    ///   - disputes: reads disputes from the upstream; nil for upstreams without disputes.
    ///   - sessions: seals API keys into the cookies of browsers.
    ///   - deadlines: tells what is done before deadlines pass; nil when that is nobody's to tell.
    ///   - branding: tells whose return page it is, by account.
    ///   - appLinks: tells which apps links to this server open.
    ///   - words: what the return page says.
    ///   - tracer: where requests to enqueue are told to, for traces.
    package init(
        watches: any WatchStore,
        accounts: AccountBackend,
        orders: any OrderStore,
        deliveries: any DeliveryQueue & DeliveryBook & LaneControl,
        outbox: any Outbox,
        lanes: any LaneControl,
        members: any Membership,
        laneLimit: @escaping @Sendable () -> LaneLimit,
        feed: any EventFeed,
        isStoreReachable: (@Sendable () -> Bool)? = nil,
        endpoints: EndpointBackend,
        checks: [any HealthCheck] = [],
        cursors: (any EventCursors)? = nil,
        sealing: SealedCursors = .ephemeral,
        archives: ArchiveKeys = .ephemeral,
        keys: (any KeyStore)? = nil,
        trail: (any AuditTrail)? = nil,
        activity: (any ActivityStore)? = nil,
        incidents: (any IncidentStore)? = nil,
        setAside: (any SuspectStore)? = nil,
        refusals: (any WebhookHealthStore)? = nil,
        suspects: PoisonGuard = .none,
        requests: (store: any NamedRequests, seals: RequestSeals)? = nil,
        webhooks: (any WebhookIntake)? = nil,
        streamTokens: (any StreamTokenIssuer)? = nil,
        mail: MailPreferences? = nil,
        locator: (any SourceLocator)? = nil,
        payers: (any PayerUpstream)? = nil,
        disputes: (any DisputeBook)? = nil,
        sessions: ConsoleSessions = .ephemeral,
        deadlines: DeadlineForecast? = nil,
        branding: @escaping @Sendable () -> [AccountID: Branding] = { [:] },
        appLinks: @escaping @Sendable () -> AppLinks = { AppLinks() },
        words: PayerLexicon = .standard,
        tracer: (any WorkTracer)? = nil
    ) {
        self.watches = watches
        self.accounts = accounts
        self.orders = orders
        self.deliveries = deliveries
        self.outbox = outbox
        self.lanes = lanes
        self.members = members
        self.laneLimit = laneLimit
        self.feed = feed
        self.isStoreReachable = isStoreReachable
        self.endpoints = endpoints
        self.checks = checks
        self.cursors = cursors ?? PlainCursors()
        self.sealing = sealing
        self.archives = archives
        self.keys = keys
        self.trail = trail
        self.activity = activity
        self.incidents = incidents
        self.setAside = setAside
        self.refusals = refusals
        self.suspects = suspects
        self.requests = requests
        self.webhooks = webhooks
        self.streamTokens = streamTokens
        self.mail = mail
        self.locator = locator
        self.payers = payers
        self.disputes = disputes
        self.sessions = sessions
        self.deadlines = deadlines
        self.branding = branding
        self.appLinks = appLinks
        self.words = words
        self.tracer = tracer
    }
}

/// A ``LiveFeed`` whatever its store and clock.
package protocol EventFeed: Sendable {
    /// What is recorded from now on and heard; see ``LiveFeed/listen(bufferMax:to:)``.
    func listen(bufferMax: Int, to interest: Interest) -> AsyncStream<FeedItem>
}

extension LiveFeed: EventFeed {}

/// What the routes know of accounts.
package struct AccountBackend: Sendable {
    package let book: any AccountBook
    private let current: @Sendable () -> AccountLimits
    /// What enqueues are held to, whoever makes them.
    package let openWatches: OpenWatchLimit

    /// Puts it together; one limit for all who enqueue in a process, so that they know of each other.
    ///
    /// `limits` tells them as they are now.
    package init(
        book: any AccountBook,
        limits: @escaping @Sendable () -> AccountLimits,
        openWatches: OpenWatchLimit
    ) {
        self.book = book
        current = limits
        self.openWatches = openWatches
    }

    /// What accounts may have now.
    package var limits: AccountLimits { current() }
}

/// What the routes of endpoints work on.
package struct EndpointBackend: Sendable {
    package let store: any EndpointStore
    package let probe: EndpointProbe
    /// What holds for endpoints without a limit of their own.
    package let standardLimit: LaneLimit
    /// What signs webhooks of inline `notify` URLs; nil where this process does not know it.
    package let inline: InlineSecrets?
    /// Tells which URLs can never be told; nil where any is taken.
    let guarding: AddressGuard?

    /// Puts a desk together.
    ///
    /// - Parameters:
    ///   - store: the registry.
    ///   - probe: sends test events.
    ///   - standardLimit: what holds for endpoints without a limit of their own.
    ///   - inline: what signs webhooks of inline `notify` URLs.
    ///   - guarding: tells which URLs can never be told.
    package init(
        store: any EndpointStore,
        probe: EndpointProbe,
        standardLimit: LaneLimit,
        inline: InlineSecrets?,
        guarding: AddressGuard? = nil
    ) {
        self.store = store
        self.probe = probe
        self.standardLimit = standardLimit
        self.inline = inline
        self.guarding = guarding
    }

    /// Refuses a URL that can never be told, whoever asks for it: its deliveries would only fail.
    func check(_ url: NotifyURL, field: String) throws(InvalidInput) {
        guard let objection = guarding?.rejectionReason(for: url) else { return }
        throw InvalidInput(field: field, message: objection)
    }
}

/// The suppression list of mail, and the tokens with which customers unsubscribe.
package struct MailPreferences: Sendable {
    let suppressions: any SuppressionList
    let tokens: UnsubscribeTokens

    /// The preferences of a cluster.
    package init(suppressions: any SuppressionList, tokens: UnsubscribeTokens) {
        self.suppressions = suppressions
        self.tokens = tokens
    }
}
