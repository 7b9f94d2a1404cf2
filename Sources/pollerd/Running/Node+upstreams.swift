import Logging
import Poller
import PollerAPI
import PollerNet
import PollerRedis
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
            }
        )
    }

    /// What workers poll with, and the services beside it: each started before the worker.
    func polling() -> (upstream: PolledUpstream, services: [any Service]) {
        let meter = ReadMeter(store: sweeps, clock: clock, logger: log("reads"))
        let http = HTTPUpstream(
            sources: settings.sections.upstreams,
            guarding: guarding,
            resolver: resolver,
            wallClock: WallClock.now
        )
        let stripe = StripeUpstream(
            accounts: accounts,
            resolver: resolver,
            expiry: settings.sourceExpiry,
            wallClock: WallClock.now
        )
        var services: [any Service] = [meter, http]
        let swept = sweptAccounts
        if !swept.isEmpty {
            services.append(
                EventSweep(
                    accounts: swept,
                    events: StripeEvents(accounts: accounts),
                    store: sweeps,
                    watches: cluster.watches,
                    meter: meter,
                    owner: cluster.owner,
                    clock: clock,
                    logger: log("sweep")
                )
            )
        }
        return (MeteredUpstream(Upstreams(stripe: stripe, http: http), meter: meter), services)
    }

    /// Gives the lanes of configured upstreams their limits, where they have others.
    func limitUpstreams() async throws {
        for source in settings.sections.upstreams {
            let known = try await cluster.watches.lane(source.lane)?.limit
            if known != source.limit {
                try await cluster.watches.limit(source.lane, to: source.limit)
            }
        }
    }

    /// Takes Stripe's webhooks; nil when no account has a secret.
    func webhooks(_ openWatches: OpenWatchLimit) -> (any WebhookIntake)? {
        let taking = webhookSecrets.filter { !$0.value.isEmpty }
        guard !taking.isEmpty else { return nil }
        var configured: [AccountID: StripeWebhooks.Account] = [:]
        for (account, secrets) in taking {
            configured[account] = StripeWebhooks.Account(
                secrets: secrets,
                isLive: settings.stripeKeys[account]?.isLive
            )
        }
        return StripeWebhooks(
            accounts: configured,
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
            wallClock: WallClock.now,
            logger: log("webhooks")
        )
    }

    /// What accounts have and may have; a new one knows nothing yet of what it has accepted.
    var accountBackend: AccountBackend {
        let start = clock.now
        return AccountBackend(
            book: cluster.watches,
            limits: settings.accountLimits,
            openWatches: OpenWatchLimit(
                settings.accountLimits,
                book: cluster.watches,
                elapsed: { [clock] in start.duration(to: clock.now) },
                logger: log("limits")
            )
        )
    }

    private var sweeps: RedisSweepStore {
        RedisSweepStore(client: cluster.client, layout: cluster.layout)
    }

    private var webhookSecrets: [AccountID: [String]] {
        var secrets = settings.sections.accounts.mapValues(\.webhookSecrets)
        if !settings.stripeWebhookSecrets.isEmpty { secrets[.main] = settings.stripeWebhookSecrets }
        return secrets
    }

    /// A publishable key may not list events.
    private var sweptAccounts: [EventSweep<ContinuousClock>.Account] {
        if settings.stripeSweep == .off { return [] }
        var interval: Duration?
        if case .every(let span) = settings.stripeSweep { interval = span }
        return accounts.named
            .filter { accounts.configuration(for: $0)?.key.kind != .publishable }
            .flatMap { account in
                EventList.allCases.map { list in
                    EventSweep.Account(
                        id: account,
                        expectsWebhooks: webhookSecrets[account]?.isEmpty == false,
                        interval: interval,
                        list: list
                    )
                }
            }
    }

    /// What captures and cancels intents, by what their watches or their account say.
    var settler: StripeSettler {
        StripeSettler(
            accounts: accounts,
            standing: settings.sections.accounts.mapValues(\.acts)
        )
    }

    /// What charges sources, by what their watches or their account say.
    var charger: StripeCharger {
        let clock = ContinuousClock()
        let start = clock.now
        return StripeCharger(
            accounts: accounts,
            standing: settings.sections.accounts.compactMapValues(\.charge),
            refundingDuplicatesOf: settings.refundingAccounts,
            publicURL: settings.publicURL,
            elapsed: { start.duration(to: clock.now) }
        )
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
