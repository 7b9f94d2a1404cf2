import Logging
import Poller
import PollerNet
import PollerRedis
import PollerUpstreams
import ServiceLifecycle
import StripeAPI

/// What a worker asks: Stripe or an HTTP upstream, its reads counted.
typealias PolledUpstream = MeteredUpstream<Upstreams, ContinuousClock>

/// Where the truth comes from, and the hints.
extension Node {
    /// The credentials of every account that is configured.
    static func accounts(_ settings: Settings) -> StripeAccounts {
        var keys = settings.sections.accounts.compactMapValues(\.apiKey)
        if let key = settings.stripeAPIKey { keys[.main] = key }
        return StripeAccounts(
            keys.mapValues { key in
                StripeClientConfiguration(key: StripeKey(key), baseURL: settings.stripeAPIBase)
            }
        )
    }

    /// What workers poll with, and the services beside it: each started before the worker.
    func polling() -> (upstream: PolledUpstream, services: [any Service]) {
        let meter = ReadMeter(store: sweeps, clock: clock, logger: log("reads"))
        let http = HTTPUpstream(
            sources: settings.sections.upstreams,
            guarding: AddressGuard(allowing: settings.allowedRanges),
            wallClock: WallClock.now
        )
        let stripe = StripeUpstream(
            accounts: accounts,
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
    func webhooks() -> (any WebhookIntake)? {
        let taking = webhookSecrets.filter { !$0.value.isEmpty }
        guard !taking.isEmpty else { return nil }
        var configured: [AccountID: StripeWebhooks.Account] = [:]
        for (account, secrets) in taking {
            configured[account] = StripeWebhooks.Account(
                secrets: secrets,
                isLive: apiKey(of: account).flatMap(Self.isLive)
            )
        }
        return StripeWebhooks(
            accounts: configured,
            tolerance: settings.stripeWebhookTolerance,
            watches: cluster.watches,
            marks: sweeps,
            intake: settings.stripeEnqueuesUnknown
                ? Intake(watches: cluster.watches, deliveries: cluster.deliveries) : nil,
            wallClock: WallClock.now,
            logger: log("webhooks")
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
            .map { account in
                EventSweep.Account(
                    id: account,
                    expectsWebhooks: webhookSecrets[account]?.isEmpty == false,
                    interval: interval
                )
            }
    }

    private func apiKey(of account: AccountID) -> String? {
        let own = settings.sections.accounts[account]?.apiKey
        return account == .main ? settings.stripeAPIKey ?? own : own
    }

    /// What charges sources, by what their watches or their account say.
    var charger: StripeCharger {
        StripeCharger(
            accounts: accounts,
            standing: settings.sections.accounts.compactMapValues(\.charge)
        )
    }

    /// Which mode a key is of: `sk_live_…`, `rk_test_…`; nil when it does not tell.
    private static func isLive(_ key: String) -> Bool? {
        key.contains("_live_") ? true : key.contains("_test_") ? false : nil
    }
}
