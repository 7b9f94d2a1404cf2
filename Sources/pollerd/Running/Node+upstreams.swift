import Logging
import Poller
import PollerAPI
import PollerHints
import PollerIdentity
import PollerNet
import PollerOperations
import PollerQueue
import PollerRedis
import PollerTracing
import PollerUpstreams
import PollerWatches
import RedisClient
import ServiceLifecycle
import StripeAPI

/// The upstream of a worker: Stripe or an HTTP upstream, with its reads counted.
typealias PolledUpstream = MeteredUpstream<Upstreams, ContinuousClock>

/// Upstreams, webhooks and sweeps.
extension Node {
    /// Returns the credentials of every configured account.
    static func accounts(_ settings: Settings) -> StripeAccounts {
        StripeAccounts(
            settings.stripeKeys.mapValues { key in
                StripeClientConfiguration(key: key, baseURL: settings.stripeAPIBase)
            },
            platforms: settings.sections.platforms
        )
    }

    /// The polling parts that outlive a configuration: connections, counters and learned state.
    struct Polling: Sendable {
        let meter: ReadMeter<ContinuousClock>
        let http: HTTPUpstream
        let stripe: StripeUpstream
        let charger: StripeCharger

        /// The services of polling, to be started before the worker.
        var services: [any Service] { [meter, http] }
    }

    /// Creates the polling parts of this node's worker.
    func polling() -> Polling {
        let start = clock.now
        return Polling(
            meter: ReadMeter(store: sweeps, clock: clock, logger: log("reads")),
            http: HTTPUpstream(
                sources: [],
                guarding: guarding,
                resolver: resolver,
                authorities: settings.authorities?.certificates ?? [],
                unreadable: UnreadableAmountReporter(
                    store: RedisUnreadableAmounts(client: cluster.client, layout: cluster.layout),
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

    /// Creates the handler of polled watches for these settings.
    func polls(
        _ polling: Polling,
        _ settings: Settings,
        _ accounts: StripeAccounts
    ) -> PollHandler<PolledUpstream> {
        let sections = settings.sections
        let upstream = MeteredUpstream(
            Upstreams(
                stripe: polling.stripe.reconfigured(as: accounts, expiry: settings.sourceExpiry),
                http: polling.http.reconfigured(sections.upstreams)
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

    /// Creates the actions that follow a poll, in the order in which they are tried.
    private func followUps(
        _ polling: Polling,
        _ settings: Settings,
        _ accounts: StripeAccounts
    ) -> [any FollowUp] {
        let sections = settings.sections
        let orders = OrderService(cluster.orders)
        let charger = polling.charger.reconfigured(
            as: accounts,
            defaults: sections.accounts.compactMapValues(\.charge),
            refundingDuplicatesOf: settings.refundingAccounts
        )
        let settler = StripeSettler(
            accounts: accounts,
            defaults: sections.accounts.mapValues(\.acts)
        )
        let threeDSecureWatcher = ThreeDSecureWatcher(
            watches: cluster.watches,
            enqueuer: Enqueuer(
                watches: cluster.watches,
                deliveries: cluster.deliveries,
                orders: orders
            )
        )
        return PaymentFollowUps.inOrder(
            charger: charger,
            settler: settler,
            orders: orders,
            threeDSecureWatcher: threeDSecureWatcher,
            logger: log("worker")
        )
    }

    /// Creates the event sweep of the configured accounts.
    func sweep(_ meter: ReadMeter<ContinuousClock>) -> any Service {
        ConfiguredSweep(
            clock: clock,
            accounts: { [live] in Self.sweptAccounts(live.now) },
            sweep: { accounts in
                await EventSweep(
                    accounts: accounts,
                    events: live,
                    store: sweeps,
                    watches: cluster.watches,
                    meter: meter,
                    suspects: suspects,
                    owner: cluster.owner,
                    clock: clock,
                    logger: log("sweep")
                ).run()
            },
            endReports: { SweepDelayMetric.record(.zero, of: $0) }
        )
    }

    /// Sets the configured limits on the lanes of upstreams, where they differ.
    ///
    /// A lane with the same limit in the `former` settings is left alone, because an operator may have changed it
    /// since.
    func limitUpstreams(_ settings: Settings, since former: Settings? = nil) async throws {
        let before = Dictionary((former?.sections.upstreams ?? []).map { ($0.name, $0.limit) }) {
            first,
            _ in first
        }
        for source in settings.sections.upstreams where before[source.name] != source.limit {
            let known = try await cluster.watches.lane(source.lane)?.limit
            guard known != source.limit else { continue }
            // If several workers start together, only one of them makes the change and records it.
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

    /// Creates the intake of Stripe's webhooks, or returns `nil` if no account has a secret.
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
                    orders: OrderService(cluster.orders)
                ) : nil,
            openWatches: openWatches,
            suspects: suspects,
            health: webhookHealth,
            wallClock: WallClock.now,
            logger: log("webhooks")
        )
    }

    /// Creates the check of open watches against account limits.
    ///
    /// It starts without any counts.
    func openWatches() -> OpenWatchLimit {
        let start = clock.now
        return OpenWatchLimit(
            { [live] in live.now.settings.accountLimits },
            accountCounts: cluster.accounts,
            elapsed: { [clock] in start.duration(to: clock.now) },
            logger: log("limits")
        )
    }

    var sweeps: RedisSweepStore {
        RedisSweepStore(client: cluster.client, layout: cluster.layout)
    }

    /// Records for the whole cluster whether webhooks are rejected.
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

    /// Returns the accounts to sweep.
    ///
    /// A publishable key may not list events.
    static func sweptAccounts(_ configured: ConfiguredParts) -> ConfiguredSweep.Accounts {
        let settings = configured.settings
        if settings.stripeSweep == .off { return [] }
        var interval: Duration?
        if case .every(let span) = settings.stripeSweep { interval = span }
        let secrets = webhookSecrets(settings)
        return configured.accounts.named
            .filter { account in
                // An organisation has no event list. The events of its accounts arrive by webhook.
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

/// Address rules for customers' URLs.
extension Node {
    /// Checks every address before a webhook or a poll connects to it.
    var guarding: AddressGuard {
        AddressGuard(
            allowing: settings.allowedRanges,
            translators: settings.translators,
            ownListeners: listeners
        )
    }

    /// Checks the text of URLs in requests.
    var guardingRequests: AddressGuard {
        AddressGuard(allowing: settings.allowedRanges, translators: settings.translators)
    }

    /// Blocks all addresses of the store's hosts.
    ///
    /// The connection itself has revealed only one of them.
    func guardStore() async {
        for server in settings.redisURL.endpoints {
            guard let host = server.host, let port = server.port else { continue }
            // An unresolvable name leads nowhere. One of several sentinels may be down.
            let found = try? await resolver.addresses(host: host, port: port)
            for address in found ?? [] { listeners.add(store: address) }
        }
    }
}
