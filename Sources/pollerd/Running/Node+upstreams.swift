import Logging
import Poller
import PollerAPI
import PollerIdentity
import PollerNet
import PollerQueue
import PollerRedis
import PollerTracing
import PollerUpstreams
import RedisClient
import ServiceLifecycle
import StripeAPI

/// What a worker asks: Stripe or an HTTP upstream, its reads counted.
typealias PolledUpstream = MeteredUpstream<Upstreams, ContinuousClock>

/// Where the truth comes from, and the hints.
extension Node {
    /// The credentials of every account that is configured.
    static func accounts(_ settings: Settings) -> StripeAccounts {
        StripeAccounts(
            settings.stripeKeys.mapValues { key in
                StripeClientConfiguration(key: key, baseURL: settings.stripeAPIBase)
            },
            platforms: settings.sections.platforms
        )
    }

    /// What workers poll with, whatever their configuration says: connections, counts, and what was learned.
    struct Polling: Sendable {
        let meter: ReadMeter<ContinuousClock>
        let http: HTTPUpstream
        let stripe: StripeUpstream
        let charger: StripeCharger

        /// Its services, each to be started before the worker.
        var services: [any Service] { [meter, http] }
    }

    /// What this node's worker polls with.
    func polling() -> Polling {
        let start = clock.now
        return Polling(
            meter: ReadMeter(store: sweeps, clock: clock, logger: log("reads")),
            http: HTTPUpstream(
                sources: [],
                guarding: guarding,
                resolver: resolver,
                authorities: settings.authorities?.certificates ?? [],
                unread: UnreadAmountReporter(
                    store: RedisUnreadAmounts(client: cluster.client, layout: cluster.layout),
                    logger: log("worker")
                ),
                wallClock: WallClock.now
            ),
            stripe: StripeUpstream(
                accounts: live.now.accounts,
                resolver: resolver,
                wallClock: WallClock.now
            ),
            charger: StripeCharger(
                accounts: live.now.accounts,
                publicURL: settings.publicURL,
                elapsed: { [clock] in start.duration(to: clock.now) }
            )
        )
    }

    /// What a worker does with a watch by these settings.
    func polls(
        _ polling: Polling,
        _ settings: Settings,
        _ accounts: StripeAccounts
    ) -> PollHandler<PolledUpstream> {
        let sections = settings.sections
        let upstream = MeteredUpstream(
            Upstreams(
                stripe: polling.stripe.asking(as: accounts, expiry: settings.sourceExpiry),
                http: polling.http.asking(sections.upstreams)
            ),
            meter: polling.meter
        )
        return PollHandler(
            upstream: upstream,
            followUps: followUps(polling, settings, accounts),
            payments: upstream,
            timeout: self.settings.pollTimeout,
            quarantineAfter: self.settings.quarantineAfter,
            tracer: traces?.tracer,
            onPaid: { [meter = polling.meter] in meter.notePaid($0) },
            logger: log("worker")
        )
    }

    /// The actions that follow a poll by these settings, in the order in which they are tried.
    private func followUps(
        _ polling: Polling,
        _ settings: Settings,
        _ accounts: StripeAccounts
    ) -> [any FollowUp] {
        let sections = settings.sections
        let orders = OrderBook(cluster.watches)
        let charger = polling.charger.charging(
            as: accounts,
            standing: sections.accounts.compactMapValues(\.charge),
            refundingDuplicatesOf: settings.refundingAccounts
        )
        let settler = StripeSettler(
            accounts: accounts,
            standing: sections.accounts.mapValues(\.acts)
        )
        let secureTries = SecureTries(
            watches: cluster.watches,
            enqueuer: Enqueuer(
                watches: cluster.watches,
                deliveries: cluster.deliveries,
                orders: orders
            )
        )
        return [
            ChargeFollowUp(charger, orders: orders, secureTries: secureTries),
            RefundFollowUp(charger, orders: orders, logger: log("worker")),
            DeadlineFollowUp(settler, orders: orders, logger: log("worker")),
        ]
    }

    /// Reads the events of each account that is configured.
    func sweep(_ meter: ReadMeter<ContinuousClock>) -> any Service {
        ConfiguredSweep(
            clock: clock,
            accounts: { [live] in Self.sweptAccounts(live.now) },
            sweep: { accounts in
                EventSweep(
                    accounts: accounts,
                    events: live,
                    store: sweeps,
                    watches: cluster.watches,
                    meter: meter,
                    suspects: suspects,
                    owner: cluster.owner,
                    clock: clock,
                    logger: log("sweep")
                )
            }
        )
    }

    /// Gives the lanes of configured upstreams their limits, where they have others.
    ///
    /// Those that `former` settings limited likewise are left alone: a person may have given a lane another limit since.
    func limitUpstreams(_ settings: Settings, since former: Settings? = nil) async throws {
        let before = Dictionary((former?.sections.upstreams ?? []).map { ($0.name, $0.limit) }) {
            first,
            _ in first
        }
        for source in settings.sections.upstreams where before[source.name] != source.limit {
            let known = try await cluster.watches.lane(source.lane)?.limit
            guard known != source.limit else { continue }
            // Only one of several workers that start finds the one before, and tells of it.
            let isNew = try await cluster.watches.limit(
                source.lane,
                to: source.limit,
                instead: LaneLimitVersion(known)
            )
            guard isNew else { continue }
            await audit.record(
                ConfiguredChanges.limit(
                    of: source.lane,
                    from: known,
                    to: source.limit,
                    standard: settings.lane
                )
            )
        }
    }

    /// Takes Stripe's webhooks; nil when no account has a secret.
    func webhooks(
        _ openWatches: OpenWatchLimit,
        _ settings: Settings,
        _ accounts: StripeAccounts
    ) -> StripeWebhooks? {
        let taking = Self.webhookSecrets(settings).filter { !$0.value.isEmpty }
        guard !taking.isEmpty else { return nil }
        var configured: [AccountID: StripeWebhooks.Account] = [:]
        for (account, secrets) in taking {
            configured[account] = StripeWebhooks.Account(
                secrets: secrets,
                isLive: settings.stripeKeys[account]?.isLive,
                connected: settings.sections.accounts[account]?.connected ?? .none
            )
        }
        let names = Array(settings.sections.accounts.keys) + Array(settings.stripeKeys.keys)
        return StripeWebhooks(
            accounts: configured,
            names: Set(names + settings.sections.upstreams.map(\.name)),
            tolerance: settings.stripeWebhookTolerance,
            watches: cluster.watches,
            marks: sweeps,
            events: StripeEvents(accounts: accounts),
            enqueuer: settings.stripeEnqueuesUnknown
                ? Enqueuer(
                    watches: cluster.watches,
                    deliveries: cluster.deliveries,
                    orders: OrderBook(cluster.watches)
                ) : nil,
            openWatches: openWatches,
            suspects: suspects,
            health: webhookHealth,
            wallClock: WallClock.now,
            logger: log("webhooks")
        )
    }

    /// Holds whoever enqueues to what accounts may have; a new one knows nothing yet of what it has accepted.
    func openWatches() -> OpenWatchLimit {
        let start = clock.now
        return OpenWatchLimit(
            { [live] in live.now.settings.accountLimits },
            book: cluster.watches,
            elapsed: { [clock] in start.duration(to: clock.now) },
            logger: log("limits")
        )
    }

    var sweeps: RedisSweepStore {
        RedisSweepStore(client: cluster.client, layout: cluster.layout)
    }

    /// Notes for the whole cluster whether webhooks are refused.
    static func webhookHealth(_ cluster: Cluster) -> WebhookHealth {
        WebhookHealth(
            store: RedisSweepStore(client: cluster.client, layout: cluster.layout),
            wallClock: WallClock.now
        )
    }

    private static func webhookSecrets(_ settings: Settings) -> [AccountID: [String]] {
        var secrets = settings.sections.accounts.mapValues(\.webhookSecrets)
        if !settings.stripeWebhookSecrets.isEmpty { secrets[.main] = settings.stripeWebhookSecrets }
        return secrets
    }

    /// A publishable key may not list events.
    static func sweptAccounts(_ configured: Configured) -> ConfiguredSweep.Accounts {
        let settings = configured.settings
        if settings.stripeSweep == .off { return [] }
        var interval: Duration?
        if case .every(let span) = settings.stripeSweep { interval = span }
        let secrets = webhookSecrets(settings)
        return configured.accounts.named
            .filter { account in
                // An organisation has no events of its own: those of its accounts come by webhooks.
                guard let key = configured.accounts.configuration(for: account)?.key else {
                    return false
                }
                return key.kind != .publishable
            }
            .flatMap { account in
                EventList.allCases.map { list in
                    EventSweep.Account(
                        id: account,
                        expectsWebhooks: secrets[account]?.isEmpty == false,
                        interval: interval,
                        paidMax: settings.stripeSweepPaid,
                        list: list
                    )
                }
            }
    }
}

/// What customers' URLs may reach.
extension Node {
    /// Judges every address that a webhook or a poll is about to connect.
    var guarding: AddressGuard {
        AddressGuard(
            allowing: settings.allowedRanges,
            translators: settings.translators,
            ownListeners: listeners
        )
    }

    /// Judges the URLs that requests name, by their text.
    var guardingRequests: AddressGuard {
        AddressGuard(allowing: settings.allowedRanges, translators: settings.translators)
    }

    /// Bars every address of the store's names: the connection has shown one of them.
    func guardStore() async {
        for server in settings.redisURL.endpoints {
            guard let host = server.host, let port = server.port else { continue }
            // A name that does not resolve leads nowhere; a sentinel among several may be down.
            let found = try? await resolver.addresses(host: host, port: port)
            for address in found ?? [] { listeners.add(store: address) }
        }
    }
}
