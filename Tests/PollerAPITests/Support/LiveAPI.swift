import JSONText
import Logging
import Poller
import PollerClient
import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerNet
import PollerOperations
import PollerPayments
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches
import ServiceLifecycle
import Synchronization
import Testing

@testable import PollerAPI

/// The API over a store on Redis, on a real socket, for the duration of a test.
struct LiveAPI: HTTPServer {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    let stores: RedisStores
    let backend: APIBackend
    let plan: FaultPlan
    let feed: ObservedFeed
    let ring: KeyRing
    let requests: MemoryIdempotencyStore
    let port: Int

    var store: any WatchStore & LaneControl { stores.watches }
    var outbox: any Outbox { stores.outbox }
    var members: any Membership { stores.members }

    /// Starts all servers, runs `body` and stops them.
    static func run(
        keys: KeyFile = .none,
        addresses: PerAddressLimit = .half,
        basePath: BasePath = .root,
        proxies: [AddressRange] = [],
        bodyTimeout: Duration? = nil,
        checks: [any HealthCheck] = [],
        webhooks: (any WebhookIntake)? = nil,
        streamTokens: (any StreamTokenIssuer)? = nil,
        locator: (any SourceLocator)? = nil,
        payers: (any PayerUpstream)? = nil,
        mail: MailPreferences? = nil,
        disputes: (any DisputeReader)? = nil,
        branding: [AccountID: Branding] = [:],
        channels: [any DeliveryChannel] = [],
        partitions: Int = 4,
        limits: AccountLimits = .none,
        lease: Duration = .seconds(12),
        archives: ArchiveKeys = .ephemeral,
        keyStoreInFront: (any KeyStore) -> any KeyStore = { $0 },
        endpointStoreInFront: (any EndpointStore) -> any EndpointStore = { $0 },
        trailInFront: (any AuditTrail) -> any AuditTrail = { $0 },
        _ body: (LiveAPI) async throws -> Void
    ) async throws {
        let stores = try await RedisStores(partitions: partitions)
        let plan = FaultPlan()
        let outbox = FaultyStore(stores.outbox, plan: plan)
        let feed = LiveFeed(outbox: outbox, clock: ContinuousClock(), logger: quiet)
        let observed = ObservedFeed(feed)
        let requests = MemoryIdempotencyStore(time: ClockTime(ContinuousClock()))
        let ring = KeyRing(
            file: keys.callers,
            store: stores.keys,
            clock: ContinuousClock(),
            wallClock: { RedisStores.now },
            logger: quiet
        )
        try await ring.refresh()
        let (ports, bound) = AsyncStream.makeStream(of: Int.self)
        let backend = APIBackend(
            watches: FaultyStore(stores.watches, plan: plan),
            accounts: .of(stores.accounts, limits),
            orders: stores.orders,
            deliveries: stores.deliveries,
            outbox: outbox,
            lanes: stores.watches,
            members: stores.members,
            laneLimit: { .stripe },
            lease: lease,
            feed: observed,
            endpoints: .on(endpointStoreInFront(stores.endpoints), channels: channels),
            checks: checks,
            archives: archives,
            keys: keyStoreInFront(stores.keys),
            trail: trailInFront(stores.trail),
            activity: stores.activity,
            incidents: stores.incidents,
            setAside: stores.suspects,
            requests: (requests, .ephemeral),
            webhooks: webhooks,
            streamTokens: streamTokens,
            mail: mail,
            locator: locator,
            payers: payers,
            disputes: disputes,
            branding: { branding }
        )
        let server = APIServer(
            bind: ListenAddress(host: "127.0.0.1", port: 0),
            backend: backend,
            keys: ring,
            addresses: addresses,
            publication: Publication(basePath: basePath, proxies: proxies),
            bodyTimeout: bodyTimeout,
            clock: ContinuousClock(),
            logger: quiet,
            onBound: { bound.yield($0.port) }
        )
        // With names, because a group without them prints each service with its whole content, which takes 0.1 s.
        let services: [any Service] = [ring, feed, server]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    .init(service: $0, serviceName: "\(type(of: $0))")
                },
                logger: quiet
            )
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            let api = LiveAPI(
                stores: stores,
                backend: backend,
                plan: plan,
                feed: observed,
                ring: ring,
                requests: requests,
                port: port
            )
            try await body(api)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// The routes of such a server, as in its router.
    var routes: [RouteDescription] {
        let server = APIServer(
            bind: ListenAddress(host: "127.0.0.1", port: 0),
            backend: backend,
            keys: ring,
            clock: ContinuousClock(),
            logger: Self.quiet
        )
        let replayer = Replayer(
            watches: backend.watches,
            outbox: backend.outbox,
            deliveries: backend.deliveries,
            clock: ContinuousClock()
        )
        return server.routes(replays: ReplayRunner(replayer: replayer)).map(\.description)
    }

    /// Returns a client of this server.
    func client(key: String? = nil) throws -> PollerClient {
        try PollerClient(url: url, apiKey: key)
    }

    /// Lets a worker observe a status of a watched source, with a payment of 10.99 €.
    func see(
        _ source: String,
        _ status: String,
        final: Bool = false,
        method: String? = nil,
        of subject: EventSubject = .status,
        payment: PaymentState? = nil,
        step: NextStep = .none
    ) async throws {
        let payment = payment.map {
            Payment(
                state: $0,
                amount: 1099,
                amountReceived: $0.wasPaid ? 1099 : 0,
                currency: "eur",
                method: PaymentMethod("ideal")
            )
        }
        try await work(on: source) { lease, now in
            let update = PollUpdate(
                subject: subject,
                status: status,
                isFinal: final,
                method: method,
                payment: payment,
                step: step
            )
            return Self.commit(lease, update, at: now)
        }
    }

    /// An observation of a worker.
    private struct PollUpdate {
        let subject: EventSubject
        let status: String
        let isFinal: Bool
        let method: String?
        let payment: Payment?
        let step: NextStep
    }

    /// Lets a worker move a watched source to quarantine.
    func bury(_ source: String, because error: String) async throws {
        try await work(on: source) { lease, now in
            let event = Event(
                lease.item,
                status: lease.item.state.status,
                closed: .dead,
                polledAt: now
            )
            let change = WatchChange(state: lease.item.state, event: event, lastError: error)
            return Commit(ref: lease.ref, verdict: .close(.dead), change: change)
        }
    }

    /// Lets a worker close a watched source as expired, without an event if a hint has reopened it.
    func expire(_ source: String) async throws {
        try await work(on: source) { lease, now in
            let event = Event(
                lease.item,
                status: lease.item.state.status,
                closed: .expired,
                polledAt: now
            )
            let change = WatchChange(
                state: lease.item.state,
                event: lease.item.isUnchangedSinceReopen ? nil : event
            )
            return Commit(ref: lease.ref, verdict: .close(.expired), change: change)
        }
    }

    /// Lets a worker poll a due source once.
    func work(
        on source: String,
        _ poll: (Lease<PollerWatches.Watch>, Timestamp) -> Commit<WatchChange>
    ) async throws {
        var found = false
        try await claimAll { lease, now in
            guard lease.item.key.source.description == source else {
                _ = try await store.release([lease.ref])
                return
            }
            found = true
            _ = try await store.commit([poll(lease, now)])
        }
        try #require(found, "nobody watches \(source), or it is not due")
    }

    /// Returns how many watches a worker would claim now, and releases them.
    func claimable() async throws -> Int {
        var count = 0
        try await claimAll { lease, _ in
            count += 1
            _ = try await store.release([lease.ref])
        }
        return count
    }

    private func claimAll(
        _ body: (Lease<PollerWatches.Watch>, Timestamp) async throws -> Void
    ) async throws {
        for partition in 0..<store.partitions {
            // The store's time is real, and without the lease nothing would be recorded.
            let claim = try await store.claim(
                ClaimRequest(partition: partition, limit: 1024, lease: .seconds(600))
            )
            for lease in claim.leases { try await body(lease, claim.now) }
        }
    }

    /// Announces a process for a minute.
    func announce(_ roles: String, host: String, inFlight: Int = 0) async throws {
        let member = Member(
            owner: OwnerID(unchecked: "owner-\(host)"),
            roles: roles,
            pid: 4711,
            host: host,
            version: "1.2.3",
            startedAt: Timestamp(ms: 1_780_000_000_000),
            inFlight: inFlight
        )
        _ = try await members.beat(member, for: .seconds(60))
    }

    private static func commit(
        _ lease: Lease<PollerWatches.Watch>,
        _ update: PollUpdate,
        at now: Timestamp
    ) -> Commit<WatchChange> {
        let source = lease.item.key.source
        let status = SourceStatus(unchecked: update.status)
        let kind = update.method.map { #","type":"\#($0)","usage":"single_use""# } ?? ""
        let event = Event(
            watch: lease.item,
            of: update.subject,
            status: status,
            final: update.isFinal,
            payment: update.payment,
            nextStep: update.step,
            object: RawJSON(
                unchecked:
                    #"{"id":"\#(source)","amount":1.50,"nested":{"object":"}"}\#(kind)}"#
            ),
            polledAt: now,
            lag: .milliseconds(3)
        )
        var state = lease.item.state
        state.status = status
        state.attempts += 1
        state.lastPolledAt = now
        return Commit(
            ref: lease.ref,
            verdict: update.isFinal ? .close(.settled) : .next(after: .zero),
            change: WatchChange(state: state, event: event)
        )
    }
}

/// A feed that counts the requests that have subscribed.
///
/// A class, because server and test share it.
final class ObservedFeed: EventFeed {
    private let base: any EventFeed
    private let count = Mutex(0)

    init(_ base: any EventFeed) {
        self.base = base
    }

    /// The number of subscriptions so far.
    var listened: Int { count.withLock { $0 } }

    func listen(
        bufferMax: Int,
        to interest: Interest
    ) -> AsyncStream<FeedItem> {
        defer { count.withLock { $0 += 1 } }
        return base.listen(bufferMax: bufferMax, to: interest)
    }
}

extension AccountBackend {
    static func of(
        _ counts: RedisAccountCounts,
        _ limits: AccountLimits = .none
    ) -> AccountBackend {
        AccountBackend(
            counts: counts,
            limits: { limits },
            openWatches: OpenWatchLimit(
                { limits },
                accountCounts: counts,
                elapsed: ContinuousClock().stopwatch(),
                logger: LiveAPI.quiet
            )
        )
    }
}

extension EndpointBackend {
    /// The secret of inline webhooks of every server under test.
    static let inlineSecret = "whsec_" + String(repeating: "aW5saW5l", count: 4)

    /// Returns an endpoint registry.
    ///
    /// `channels` deliver its test events.
    static func on(
        _ store: any EndpointStore,
        channels: [any DeliveryChannel] = []
    ) -> EndpointBackend {
        EndpointBackend(
            store: store,
            probe: EndpointProbe(channels: channels),
            standardLimit: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 16),
            inline: (try? WebhookSecret(inlineSecret)).map { main in
                InlineSecrets(main: main, root: Array(0..<32))
            }
        )
    }
}
