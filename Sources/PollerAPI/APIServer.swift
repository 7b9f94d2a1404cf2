import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import PollerDeliveries
package import PollerNet
package import PollerOperations
import PollerWatches
import ServiceLifecycle

/// The HTTP API: watches, events, lanes, quarantine, statistics, the doctor and the console.
///
/// Limits: 10,000 connections (one file descriptor each; further ones wait in the backlog). One address may open half
/// of them unless an operator configures otherwise (``PerAddressLimit``). Headers are limited to 16 KiB in 64 fields,
/// enough for a key, a cursor and browser headers, and must arrive within 15 s (``RequestDeadline``). A key may send
/// 1,000 requests per second (``RequestLimits``). Bodies are limited to 64 KiB, batches to 8 MiB, and must arrive
/// within 30 s. Idle connections close after 75 s, longer than the longest long poll.
/// On graceful shutdown the server accepts no connection, waiting requests return at once, and requests in progress
/// finish.
package struct APIServer: Service {
    private let bind: ListenAddress
    private let backend: APIBackend
    private let keys: KeyRing
    private let addresses: PerAddressLimit
    private let tls: ListenerTLS?
    private let publication: Publication
    private let bodyTimeout: Duration
    private let limits: RequestLimits
    private let rates: RequestRates
    private let clock: any Clock<Duration>
    private let executor: @Sendable (any EventLoop) -> (any TaskExecutor)?
    private let logger: Logger
    private let onBound: @Sendable (ListenAddress) -> Void

    /// Creates a server that listens once it runs.
    ///
    /// - `keys`: without any key, every client that reaches the port has full access. So `bind` must then be loopback,
    ///   and requests for other hosts and from other origins are rejected.
    /// - `addresses`: the maximum number of connections, and of waiting requests, per address.
    /// - `tls`: the certificates; `nil` for plain HTTP. Runs as a separate service.
    /// - `publication`: the path under which a proxy publishes the server.
    /// - `bodyTimeout`: the time for the body of a request; `nil` for ``BodyReader/timeout``.
    /// - `rates`: the maximum requests per second of a key or an address.
    /// - `clock`: the clock of long polls and of requests.
    /// - `executor`: returns the executor of a connection's event loop. Brief requests run there (``LoopMiddleware``).
    ///   `nil` runs all requests in Swift's own pool.
    /// - `onBound`: receives the address with the actual port, once.
    package init(
        bind: ListenAddress,
        backend: APIBackend,
        keys: KeyRing,
        addresses: PerAddressLimit = .half,
        tls: ListenerTLS? = nil,
        publication: Publication = .atRoot,
        bodyTimeout: Duration? = nil,
        rates: RequestLimits = .standard,
        clock: any Clock<Duration>,
        executor: @escaping @Sendable (any EventLoop) -> (any TaskExecutor)? = { _ in nil },
        logger: Logger,
        onBound: @escaping @Sendable (ListenAddress) -> Void = { _ in }
    ) {
        self.bind = bind
        self.backend = backend
        self.keys = keys
        self.addresses = addresses
        self.tls = tls
        self.publication = publication
        self.bodyTimeout = bodyTimeout ?? BodyReader.timeout
        limits = rates
        self.rates = RequestRates(rates, clock: clock)
        self.clock = clock
        self.executor = executor
        self.logger = logger
        self.onBound = onBound
    }

    /// Serves until shutdown.
    ///
    /// Errors: ``ListenError`` if the address is not available.
    package func run() async throws {
        let replays = ReplayRunner(
            replayer: Replayer(
                watches: backend.watches,
                outbox: backend.outbox,
                deliveries: backend.deliveries,
                suspects: backend.suspects,
                clock: clock
            )
        )
        let router = router(of: routes(replays: replays))
        let service = HTTPService(
            name: "api",
            bind: bind,
            addresses: addresses,
            tls: tls,
            publication: publication,
            bodyTimeout: bodyTimeout,
            executor: executor,
            logger: logger,
            onBound: onBound
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Runs in parallel with the server and is cancelled with it.
            group.addTask { await replays.run() }
            try await service.run(router)
            group.cancelAll()
        }
    }

    /// Returns every route with its handler, including the OpenAPI description.
    func routes(replays: ReplayRunner) -> [AnsweredRoute] {
        let reader = BodyReader()
        let polls = LongPolls(
            feed: backend.feed,
            addresses: addresses,
            perKey: limits.waitsPerKey,
            clock: clock,
            isStoreReachable: backend.isStoreReachable
        )
        let openWatches = backend.accounts.openWatches
        let enqueuer = Enqueuer(
            watches: backend.watches,
            deliveries: backend.deliveries,
            orders: OrderService(backend.orders)
        )
        let submissions = PayerSubmissions(
            upstream: backend.payers,
            watches: backend.watches,
            polls: polls,
            clock: clock,
            logger: logger
        )
        let statusCache = ClusterStatusCache(backend: backend, clock: clock)
        let tracing = EnqueueTracing(tracer: backend.tracer, now: keys.now)
        let scans = Scans(watches: backend.watches, gate: ScanGate(), rates: rates)
        let groups = [
            WatchRoutes(
                watches: backend.watches,
                members: backend.members,
                laneLimit: backend.laneLimit,
                enqueuer: enqueuer,
                openWatches: openWatches,
                deadlines: backend.deadlines,
                locator: backend.locator,
                endpoints: backend.endpoints,
                reader: reader,
                polls: polls,
                scans: scans,
                now: keys.now,
                tracing: tracing
            ).routes,
            BatchRoutes(
                enqueuer: enqueuer,
                openWatches: openWatches,
                locator: backend.locator,
                endpoints: backend.endpoints,
                reader: reader,
                tracing: tracing
            ).routes,
            WatchSummaryRoutes(watches: backend.watches, scans: scans, now: keys.now).routes,
            SelectionRoutes(
                watches: backend.watches,
                scans: scans,
                statusCache: statusCache,
                reader: reader,
                now: keys.now
            ).routes,
            RestoreRoutes(
                watches: backend.watches,
                endpoints: backend.endpoints,
                archives: backend.archives,
                reader: reader
            ).routes,
            PayerRoutes(watches: backend.watches, submissions: submissions, reader: reader).routes,
            OrderRoutes(orders: backend.orders, watches: backend.watches, scans: scans).routes,
            EventRoutes(backend: backend, polls: polls, scans: scans).routes,
            TimelineRoutes(backend: backend).routes,
            EndpointRoutes(
                backend: backend.endpoints,
                limits: { backend.accounts.limits },
                deliveries: backend.deliveries,
                reader: reader
            ).routes,
            DeliveryRoutes(backend: backend, statusCache: statusCache, scans: scans).routes,
            ReplayRoutes(backend: backend, runner: replays, reader: reader).routes,
            LaneRoutes(backend: backend, reader: reader, statusCache: statusCache).routes,
            AccountRoutes(backend: backend).routes,
            QuarantineRoutes(backend: backend, scans: scans, statusCache: statusCache).routes,
            OperatorRoutes(backend: backend, statusCache: statusCache, clock: clock).routes,
            IncidentRoutes(incidents: backend.incidents).routes,
            SetAsideRoutes(backend: backend).routes,
            StripeWebhookRoutes(intake: backend.webhooks, reader: reader).routes,
            StreamTokenRoutes(issuer: backend.streamTokens, keys: keys, reader: reader)
                .routes,
            KeyRoutes(store: backend.keys, ring: keys, reader: reader).routes,
            AuditRoutes(trail: backend.trail, gate: scans.gate).routes,
            MailRoutes(preferences: backend.mail, reader: reader, now: keys.now).routes,
            UnsubscribeRoutes(
                preferences: backend.mail,
                branding: backend.branding,
                words: backend.words,
                reader: reader,
                now: keys.now
            ).routes,
            ReturnPageRoutes(
                watches: backend.watches,
                // Separate from the API's long polls, so that customers do not use up the slots of operators.
                polls: LongPolls(feed: backend.feed, addresses: addresses, clock: clock),
                submissions: submissions,
                reader: reader,
                branding: backend.branding,
                words: backend.words,
                clock: clock
            ).routes,
            AppLinkRoutes(links: backend.appLinks).routes,
            LateRoutes(backend: backend, statusCache: statusCache).routes,
            DisputeRoutes(
                cache: backend.disputes.map { DisputeCache(reader: $0, clock: clock) },
                watches: backend.watches,
                now: keys.now
            ).routes,
            CallerRoutes().routes,
            SessionRoutes(sessions: backend.sessions, now: keys.now).routes,
            ConsoleRoutes().routes,
        ]
        let routes = groups.flatMap(\.self)
        let server = OpenAPIServer(isTLS: tls != nil, publication: publication)
        return routes + [OpenAPI.describing(routes, at: server)]
    }

    /// Returns the router of these routes with all middleware.
    private func router(of routes: [AnsweredRoute]) -> Router<APIContext> {
        let table = RouteTable(routes.map(\.description))
        let router = Router(context: APIContext.self)
        router.add(middleware: LoopMiddleware(table: table))
        router.add(middleware: BodyMiddleware())
        router.add(middleware: AnswerMiddleware(clock: clock, table: table))
        let recorder = backend.trail.map { AuditRecorder(trail: $0, logger: logger) }
        router.add(
            middleware: KeyMiddleware(
                keys: keys,
                cursors: backend.sealing,
                audit: recorder.map { RequestAudit(recorder: $0, clock: clock) },
                rates: rates,
                table: table,
                isSecure: tls != nil,
                sessions: backend.sessions
            )
        )
        // After the key check, so that a repeat needs the same access as the first request.
        if let (store, seals) = backend.requests {
            router.add(
                middleware: IdempotencyMiddleware(
                    requests: store,
                    seals: seals,
                    reader: BodyReader(),
                    table: table
                )
            )
        }
        for route in routes {
            for path in route.description.paths {
                router.on(RouterPath(path), method: route.description.method, use: route.answer)
            }
        }
        return router
    }
}
