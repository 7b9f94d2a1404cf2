package import Poller
package import PollerDeliveries
package import PollerHints
package import PollerIdentity
package import PollerIncidents
package import PollerLocalization
package import PollerNet
package import PollerOperations
package import PollerPayments
package import PollerQueue
package import PollerWatches

/// The stores and services that the routes use.
package struct APIBackend: Sendable {
    package let watches: any WatchStore
    /// The usage and limits of accounts.
    package let accounts: AccountBackend
    package let orders: any OrderStore
    package let deliveries: any DeliveryQueue & DeliveryOperations & LaneControl
    package let outbox: any Outbox
    package let lanes: any LaneControl
    package let members: any Membership
    /// The limit for lanes without a custom one.
    package let laneLimit: @Sendable () -> LaneLimit
    /// The lease of a poll.
    package let lease: Duration
    package let feed: any EventFeed
    /// Whether the store is reachable now; `nil` without a store check.
    package let isStoreReachable: (@Sendable () -> Bool)?
    /// The registered endpoints.
    package let endpoints: EndpointBackend
    package let checks: [any HealthCheck]
    /// Encodes and decodes the cursors of `/v1/events`.
    package let cursors: any EventCursors
    /// Encrypts list cursors for callers bound to accounts.
    package let sealing: SealedCursors
    /// Signs and verifies the lines of archives.
    package let archives: ArchiveKeys
    /// The keys that this API creates and revokes; `nil` without a key store.
    package let keys: (any KeyStore)?
    /// The audit trail; `nil` without a store for it.
    package let trail: (any AuditTrail)?
    /// The activity of the cluster; `nil` without a store for it.
    package let activity: (any ActivityStore)?
    /// The incidents; `nil` without a store for them.
    package let incidents: (any IncidentStore)?
    /// The entries set aside after ending several processes; `nil` without a store for them.
    package let setAside: (any SuspectStore)?
    /// The rejected webhooks of the upstream; `nil` without a store for them.
    package let refusals: (any WebhookHealthStore)?
    /// Sets aside replays that end their processes.
    package let suspects: PoisonGuard
    /// The store of idempotent requests and the encryption of their responses; `nil` without such a store.
    package let requests: (store: any IdempotencyStore, seals: RequestSeals)?
    /// Receives Stripe's webhooks; `nil` if none are expected.
    package let webhooks: (any WebhookIntake)?
    /// Issues tokens for the live gateway; `nil` without a gateway.
    package let streamTokens: (any StreamTokenIssuer)?
    /// Resolves the source of a URL; `nil` if sources are identified only by ID.
    package let locator: (any SourceLocator)?
    /// Submits payers' input to the upstream; `nil` for upstreams that accept none.
    package let payers: (any PayerUpstream)?
    /// Reads disputes from the upstream; `nil` for upstreams without disputes.
    package let disputes: (any DisputeReader)?
    /// Encrypts API keys into the cookies of browsers.
    package let sessions: ConsoleSessions
    /// Predicts the actions before deadlines; `nil` if the process cannot predict them.
    package let deadlines: DeadlineForecast?
    /// The suppression list of emails; `nil` without a list.
    package let mail: MailPreferences?
    /// The current branding of the return page by account.
    ///
    /// A missing entry means a page without branding.
    package let branding: @Sendable () -> [AccountID: Branding]
    /// The apps that open links to this server.
    package let appLinks: @Sendable () -> AppLinks
    /// The texts of the return page.
    package let words: PayerLexicon
    /// Receives enqueue spans; `nil` when tracing is disabled.
    package let tracer: (any WorkTracer)?

    /// Creates a backend.
    ///
    /// - Parameters:
    ///   - watches: the queue of watches.
    ///   - accounts: the usage and limits of accounts.
    ///   - orders: the orders, stored in the queue of watches.
    ///   - deliveries: the queue of deliveries.
    ///   - outbox: the recorded events.
    ///   - lanes: the lanes of `watches`.
    ///   - members: the processes of this cluster.
    ///   - laneLimit: returns the limit for lanes without a custom one.
    ///   - lease: the lease of a poll.
    ///   - feed: wakes long polls. Without a running feed, they return at their timeout.
    ///   - isStoreReachable: whether the store is reachable now; `nil` without a store check.
    ///   - endpoints: the registered endpoints.
    ///   - checks: the doctor's checks in addition to the cluster itself.
    ///   - cursors: the cursors of the live gateway; `nil` for cursors without a signature.
    ///   - sealing: encrypts list cursors for callers bound to accounts.
    ///   - archives: signs and verifies the lines of archives.
    ///   - keys: the keys that this API creates and revokes.
    ///   - trail: the audit trail; `nil` without a store for it.
    ///   - activity: the activity of the cluster; `nil` without a store for it.
    ///   - incidents: the incidents; `nil` without a store for them.
    ///   - setAside: the entries set aside after ending several processes; `nil` without a store for them.
    ///   - refusals: the rejected webhooks of the upstream; `nil` without a store for them.
    ///   - suspects: sets aside replays that end their processes.
    ///   - requests: the store of idempotent requests, and the encryption of their responses; `nil` without a store.
    ///   - webhooks: receives Stripe's webhooks; `nil` if none are expected.
    ///   - streamTokens: issues tokens for the live gateway; `nil` without a gateway.
    ///   - mail: the suppression list of emails; `nil` without a list.
    ///   - locator: resolves the source of a URL; `nil` if sources are identified only by ID.
    ///   - payers: submits payers' input to the upstream; `nil` for upstreams that accept none.
    ///   - disputes: reads disputes from the upstream; `nil` for upstreams without disputes.
    ///   - sessions: encrypts API keys into the cookies of browsers.
    ///   - deadlines: predicts the actions before deadlines; `nil` if the process cannot predict them.
    ///   - branding: returns the branding of the return page by account.
    ///   - appLinks: returns the apps that open links to this server.
    ///   - words: the texts of the return page.
    ///   - tracer: receives enqueue spans.
    package init(
        watches: any WatchStore,
        accounts: AccountBackend,
        orders: any OrderStore,
        deliveries: any DeliveryQueue & DeliveryOperations & LaneControl,
        outbox: any Outbox,
        lanes: any LaneControl,
        members: any Membership,
        laneLimit: @escaping @Sendable () -> LaneLimit,
        lease: Duration,
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
        requests: (store: any IdempotencyStore, seals: RequestSeals)? = nil,
        webhooks: (any WebhookIntake)? = nil,
        streamTokens: (any StreamTokenIssuer)? = nil,
        mail: MailPreferences? = nil,
        locator: (any SourceLocator)? = nil,
        payers: (any PayerUpstream)? = nil,
        disputes: (any DisputeReader)? = nil,
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
        self.lease = lease
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

/// The accounts and their limits, for the routes.
package struct AccountBackend: Sendable {
    package let counts: any AccountCounts
    private let current: @Sendable () -> AccountLimits
    /// The limit of open watches, applied to every enqueue.
    package let openWatches: OpenWatchLimit

    /// Creates a backend.
    ///
    /// All enqueues of a process share `openWatches`, so that they count together.
    ///
    /// `limits` returns the current limits.
    package init(
        counts: any AccountCounts,
        limits: @escaping @Sendable () -> AccountLimits,
        openWatches: OpenWatchLimit
    ) {
        self.counts = counts
        current = limits
        self.openWatches = openWatches
    }

    /// The current limits of accounts.
    package var limits: AccountLimits { current() }
}

/// The registered endpoints and their tools, for the routes.
package struct EndpointBackend: Sendable {
    package let store: any EndpointStore
    package let probe: EndpointProbe
    /// The limit for endpoints without a custom one.
    package let standardLimit: LaneLimit
    /// The secrets that sign webhooks of inline `notify` URLs; `nil` if this process does not have them.
    package let inline: InlineSecrets?
    /// Rejects URLs that deliveries may not connect to; `nil` to accept any URL.
    let guarding: AddressGuard?

    /// Creates a backend.
    ///
    /// - Parameters:
    ///   - store: the registry.
    ///   - probe: sends test events.
    ///   - standardLimit: the limit for endpoints without a custom one.
    ///   - inline: the secrets that sign webhooks of inline `notify` URLs.
    ///   - guarding: rejects URLs that deliveries may not connect to.
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

    /// Rejects a URL to which every delivery would fail, regardless of the caller.
    func check(_ url: NotifyURL, field: String) throws(InvalidInput) {
        guard let objection = guarding?.rejectionReason(for: url) else { return }
        throw InvalidInput(field, objection)
    }
}

/// The suppression list of emails, and the tokens of unsubscribe links.
package struct MailPreferences: Sendable {
    let suppressions: any SuppressionList
    let tokens: UnsubscribeTokens

    package init(suppressions: any SuppressionList, tokens: UnsubscribeTokens) {
        self.suppressions = suppressions
        self.tokens = tokens
    }
}
