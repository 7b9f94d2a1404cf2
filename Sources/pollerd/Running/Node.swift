import Foundation
import Logging
import Metrics
import NIOCore
import NIOPosix
import Poller
import PollerAPI
import PollerChannels
import PollerDeliveries
import PollerGateway
import PollerHints
import PollerNet
import PollerOperations
import PollerQueue
import PollerRedis
import PollerTracing
import PollerUpstreams
import PollerWatches
import RedisClient
import ServiceLifecycle

/// One pollerd process: the services of its roles, wired together.
///
/// It is the only type that uses every target. Services start in order of dependence and stop in reverse. Servers stop
/// accepting requests, loops drain, and the listener for probes and metrics stops last, so that a drain stays
/// observable. The Redis connection outlives them all.
struct Node: Sendable {
    let roles: Set<Role>
    let settings: Settings
    let cluster: Cluster
    let metrics: PrometheusRegistry
    let logger: Logger

    /// The loops, which stop claiming as soon as a drain begins.
    let loops = DrainingLoops()

    let clock: ContinuousClock
    /// The parts that follow the configuration.
    ///
    /// `settings` holds the values fixed at the start.
    let live: LiveConfiguration
    /// The addresses that customers' URLs must not reach.
    let listeners: OwnListeners
    /// Resolves every host name that a customer or an upstream has chosen.
    let resolver: any AddressResolver
    let startup: Startup
    /// Sets aside stored entries that end processes.
    let suspects: PoisonGuard
    /// Records whether Stripe's webhooks carry valid signatures.
    let webhookHealth: WebhookHealth
    /// The trace export, or `nil` if tracing is off.
    let traces: TraceExport?

    /// Creates a node that reports itself ready when all its listeners are bound.
    init(
        roles: Set<Role>,
        settings: Settings,
        cluster: Cluster,
        listeners: OwnListeners,
        metrics: PrometheusRegistry,
        logger: Logger
    ) {
        self.roles = roles
        self.settings = settings
        self.cluster = cluster
        self.listeners = listeners
        self.metrics = metrics
        self.logger = logger
        clock = ContinuousClock()
        var guardLogger = logger
        guardLogger[metadataKey: "part"] = "quarantine"
        suspects = PoisonGuard(store: cluster.suspects, logger: guardLogger)
        webhookHealth = Self.webhookHealth(cluster)
        resolver = SystemResolver(clock: clock)
        live = LiveConfiguration(ConfiguredParts(settings, Self.accounts(settings)))
        traces = Self.traces(of: roles, settings, as: cluster.owner, clock: clock, logger)
        startup = Startup(
            of: Set(["admin"] + roles.intersection([.api, .gateway]).map(\.rawValue)),
            listeners: listeners,
            secure: Set(settings.tls.keys),
            announcer: settings.announcer
        )
    }

    /// Returns the services in start order.
    ///
    /// They follow new configurations from `configurations`.
    func services(
        following configurations: ConfigurationFeed
    ) async throws -> [any Service] {
        var services: [any Service] = []
        let parts = PersistentParts(
            polling: roles.contains(.worker) ? polling() : nil,
            openWatches: roles.contains(.api) ? openWatches() : nil
        )
        live.replace(with: configured(by: settings, parts))
        let feed = LiveFeed(
            outbox: cluster.outbox,
            clock: clock,
            loopExecutor: RedisLoopExecutor(cluster.client),
            rest: .milliseconds(5),
            logger: log("feed")
        )
        let keys = try await keyRing()
        await guardStore()

        let certificates = (try tls("api"), try tls("gateway"), try tls("admin"))
        if let tls = certificates.2 { services.append(tls) }
        services.append(admin(certificates.2))
        if let traces { services.append(traces.service) }
        let channels = roles.isDisjoint(with: [.api, .notifier]) ? nil : try await channels()
        services += channels?.services ?? []
        let ring = RootRing(try await cluster.secrets.roots(), wallClock: WallClock.now)
        services.append(SecretsSync(secrets: cluster.secrets, ring: ring, logger: log("secrets")))
        services.append(
            LayoutSync(
                layout: cluster.layout,
                client: cluster.client,
                owner: cluster.owner,
                logger: log("layout")
            )
        )
        services.append(incidentWatch())
        var shared: [Heartbeat<ContinuousClock>.Loop] = []
        var limitLanes: @Sendable (LaneLimit) -> Void = { _ in }
        if !roles.isDisjoint(with: [.worker, .notifier]) { services.append(activityReporter()) }
        if let polling = parts.polling {
            let worker = worker()
            limitLanes = { worker.limit(lanesTo: $0) }
            services += polling.services + [sweep(polling.meter)]
            try await limitUpstreams(settings)
            services.append(DrainedLoop { await worker.run() })
            shared.append(
                heartbeatLoop(worker, as: .worker, partitions: cluster.watches.partitions)
            )
        }
        if roles.contains(.notifier), let channels {
            let (loops, others) = try await notifier(channels)
            services += others
            shared += loops
        }
        services.append(heartbeat(shared))
        if roles != [.worker] { services.append(keys) }
        // The feed reads every event, so it runs only in processes that serve live clients.
        if !roles.isDisjoint(with: [.api, .gateway]) { services.append(feed) }
        if roles.contains(.gateway), let bind = settings.gatewayBind {
            if let tls = certificates.1 { services.append(tls) }
            services.append(
                gateway(at: bind, feed: feed, keys: keys, ring: ring, tls: certificates.1)
            )
        }
        if roles.contains(.api), let channels, let openWatches = parts.openWatches {
            if let tls = certificates.0 { services.append(tls) }
            services += try await api(
                openWatches: openWatches,
                feed: feed,
                keys: keys,
                ring: ring,
                channels: channels,
                tls: certificates.0
            )
        }
        let listeners = ["api": certificates.0, "gateway": certificates.1, "admin": certificates.2]
        let change = NodeChange(
            node: self,
            parts: parts,
            keys: keys,
            certificates: listeners.compactMapValues(\.self),
            limitLanes: limitLanes
        )
        services.append(
            ConfigurationReload(configurations, change, clock: clock, logger: log("config"))
        )
        return services
    }

    private func worker() -> LeaseWorker<Watch, WatchChange, ContinuousClock> {
        let worker = LeaseWorker(
            name: "worker",
            queue: cluster.watches,
            handler: live,
            settings: LeaseWorkerSettings(
                owner: cluster.owner,
                concurrency: settings.workerConcurrency,
                lease: settings.lease,
                lane: settings.lane,
                drainTimeout: settings.drainTimeout,
                roundsDueTimes: true
            ),
            clock: clock,
            loopExecutor: RedisLoopExecutor(cluster.client),
            logger: log("worker")
        )
        loops.add(worker.drain)
        return worker
    }

    /// Returns a loop's part of the heartbeat, which divides the partitions among processes.
    func heartbeatLoop<Item: Sendable, Change: Sendable>(
        _ loop: LeaseWorker<Item, Change, ContinuousClock>,
        as role: Role,
        partitions: Int
    ) -> Heartbeat<ContinuousClock>.Loop {
        Heartbeat.Loop(
            role: role.rawValue,
            partitions: partitions,
            inFlight: { loop.inFlight },
            assign: { loop.assign($0) }
        )
    }

    private func heartbeat(_ loops: [Heartbeat<ContinuousClock>.Loop]) -> any Service {
        let member = Member(
            owner: cluster.owner,
            roles: Role.allCases.filter(roles.contains).map(\.rawValue).joined(separator: ","),
            pid: Int(clamping: ProcessInfo.processInfo.processIdentifier),
            host: ProcessInfo.processInfo.hostName,
            version: Release.version,
            startedAt: WallClock.now(),
            inFlight: 0,
            slots: roles.contains(.worker) ? settings.workerConcurrency : nil,
            storeFormat: cluster.layout.form,
            partitions: cluster.layout.partitions
        )
        return Heartbeat(
            membership: cluster.members,
            member: member,
            loops: loops,
            capabilities: { [live, sendsMail = settings.mail != nil] in
                live.now.settings.served(sendsMail: sendsMail)
            },
            clock: clock,
            logger: log("heartbeat")
        )
    }

    private func gateway(
        at bind: ListenAddress,
        feed: LiveFeed<RedisOutbox, ContinuousClock>,
        keys: KeyRing,
        ring: RootRing,
        tls: ListenerTLS?
    ) -> any Service {
        Gateway(
            configuration: GatewayConfiguration(
                host: bind.host,
                port: bind.port,
                cursor: cursors(ring),
                allowedOrigins: settings.allowedOrigins,
                limits: GatewayLimits(
                    addresses: settings.addresses,
                    perKey: settings.streamsPerKey
                ),
                tls: tls,
                drainTimeout: settings.drainTimeout
            ),
            outbox: cluster.outbox,
            watches: cluster.watches,
            feed: feed,
            authenticator: KeyAuthenticator(keys: keys),
            tokens: StreamTokens(roots: ring, wallClock: WallClock.now),
            spent: RedisSpentTokens(client: cluster.client, layout: cluster.layout),
            logger: log("gateway"),
            onListening: { address in
                startup.bound(
                    "gateway",
                    ListenAddress(host: bind.host, port: address.port ?? 0)
                )
            }
        )
    }

    private func api(
        openWatches: OpenWatchLimit,
        feed: LiveFeed<RedisOutbox, ContinuousClock>,
        keys: KeyRing,
        ring: RootRing,
        channels: Channels,
        tls: ListenerTLS?
    ) async throws -> [any Service] {
        // Repeats of requests and archives are kept longer than a rotation lasts, so they use the root that never
        // changes.
        let root = try await cluster.secrets.mailRoot()
        let backend = APIBackend(
            watches: cluster.watches,
            accounts: AccountBackend(
                counts: cluster.accounts,
                limits: { [live] in live.now.settings.accountLimits },
                openWatches: openWatches
            ),
            orders: cluster.orders,
            deliveries: cluster.deliveries,
            outbox: cluster.outbox,
            lanes: cluster.watches,
            members: cluster.members,
            laneLimit: { [live] in live.now.settings.lane },
            lease: settings.lease,
            feed: feed,
            isStoreReachable: { [client = cluster.client] in client.reachability.isUsable },
            endpoints: EndpointBackend(
                store: cluster.endpoints,
                probe: EndpointProbe(channels: channels.all),
                standardLimit: endpointLimit,
                inline: channels.inline,
                guarding: guardingRequests
            ),
            checks: ClusterChecks.all(
                cluster,
                live: live,
                webhooks: sweeps,
                sweeps: sweeps,
                settings: settings
            ),
            cursors: cursors(ring),
            sealing: SealedCursors(roots: ring),
            archives: ArchiveKeys(master: settings.masterKeys, root: root),
            keys: cluster.keys,
            trail: cluster.trail,
            activity: cluster.activity,
            incidents: cluster.incidents,
            setAside: cluster.suspects,
            refusals: sweeps,
            suspects: suspects,
            requests: (cluster.requests, RequestSeals(root: root)),
            webhooks: live,
            streamTokens: StreamTokens(roots: ring, wallClock: WallClock.now),
            mail: try await mailPreferences(),
            locator: live,
            payers: live,
            disputes: CountedDisputes(live, in: sweeps),
            sessions: ConsoleSessions(roots: ring),
            deadlines: DeadlineForecast(settler: live, payments: StripePayments()),
            branding: { [live] in live.now.branding },
            appLinks: { [live] in live.now.settings.appLinks },
            words: settings.templates.words,
            tracer: traces?.tracer
        )
        let server = APIServer(
            bind: settings.apiBind,
            backend: backend,
            keys: keys,
            addresses: settings.addresses,
            tls: tls,
            publication: Publication(basePath: settings.basePath, proxies: settings.proxies),
            rates: settings.rates,
            clock: clock,
            executor: LoopExecutors(MultiThreadedEventLoopGroup.singleton).executor,
            logger: log("api"),
            onBound: { startup.bound("api", $0) }
        )
        return [server, gauges(backend)]
    }

    /// The cursors are valid as long as the outbox keeps its entries.
    private func cursors(_ ring: RootRing) -> GatewayCursor {
        GatewayCursor(roots: ring, span: settings.retention.outbox)
    }

    func log(_ part: String) -> Logger {
        var logger = logger
        logger[metadataKey: "part"] = "\(part)"
        return logger
    }
}

/// The role of a process in a cluster.
enum Role: String, CaseIterable, Sendable {
    /// Serves the HTTP API.
    case api
    /// Polls sources.
    case worker
    /// Delivers events: webhooks, emails, Redis stream entries.
    case notifier
    /// Publishes events to live clients: WebSockets and server-sent events.
    case gateway
}
