import Foundation
import Poller
import PollerAPI
import PollerChannels
import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerRedis
import PollerUpstreams
import RedisClient
import SafeNumbers

/// The checks that `pollerctl doctor` requests from this process.
///
/// Each result names a remedy.
enum ClusterChecks {
    /// All checks, in reading order.
    static func all(
        _ cluster: Cluster,
        live: LiveConfiguration,
        webhooks: any WebhookHealthStore,
        sweeps: any SweepStore,
        settings: Settings
    ) -> [any HealthCheck] {
        [
            Check("redis", .store) { () throws(StoreError) in
                try await reachable(cluster.client, at: settings.redisURL)
            },
            Check("redis version") { () throws(StoreError) in
                try await version(cluster.client)
            },
            Check("redis eviction policy") { () throws(StoreError) in
                try await eviction(cluster.client)
            },
            Check("redis persistence") { () throws(StoreError) in
                try await persistence(cluster.client)
            },
            Check("redis clock") { () throws(StoreError) in
                try await clock(cluster.client)
            },
            Check("redis scripts") { () throws(StoreError) in
                try await scripts(cluster.client)
            },
            Check("partitions") { () throws(StoreError) in try await partitions(cluster) },
            Check("secrets at rest") { () throws(StoreError) in
                try await secrets(cluster.secrets, settings.masterKeys)
            },
            Check("stripe api key", .other) { await stripeKeys(live.now.accounts) },
            Check("stripe webhooks") { () throws(StoreError) in
                try await stripeWebhooks(webhooks, live.now.settings)
            },
            Check("stripe events") { () throws(StoreError) in
                try await sweep(
                    sweeps,
                    Node.sweptAccounts(live.now),
                    expectsWebhooks: live.now.settings.expectsStripeWebhooks
                )
            },
            Check("upstream amounts") { () throws(StoreError) in
                try await amounts(
                    RedisUnreadableAmounts(client: cluster.client, layout: cluster.layout),
                    of: live.now.settings.sections.upstreams
                )
            },
            Check("smtp relay", .other) { await smtp(settings) },
            Check("endpoints") { () throws(StoreError) in try await endpoints(cluster.endpoints) },
            Check("set aside") { () throws(StoreError) in try await setAside(cluster.suspects) },
        ]
    }

    private static func reachable(
        _ client: RedisClient,
        at url: RedisURL
    ) async throws(StoreError) -> HealthResult {
        do throws(RedisError) {
            _ = try await client.send(RedisCommand("PING"))
            let reach = client.reachability
            if !reach.unreachable.isEmpty || !reach.isServing {
                let names = reach.unreachable.map { "\($0)" }.joined(separator: ", ")
                return .failed(
                    "\(reach.unreachable.count) of \(reach.masters) masters away: \(names)"
                        + (reach.isServing ? "" : "; the Redis Cluster serves no requests"),
                    action: "start them or their replicas; items stored on them wait until then"
                )
            }
            return .ok("answers at \(url)")
        } catch {
            return .failed(
                "\(url) cannot be reached: \(client.failure ?? "\(error)")",
                action: "start Redis, or correct POLLER_REDIS_URL; polling and delivery resume as "
                    + "soon as it is available"
            )
        }
    }

    /// Checks for disabled endpoints.
    private static func endpoints(
        _ store: some EndpointStore
    ) async throws(StoreError) -> HealthResult {
        var count = 0
        var disabled: [String] = []
        var cursor: String?
        repeat {
            let page = try await store.list(accounts: .all, limit: 500, cursor: cursor)
            count += page.items.count
            for endpoint in page.items {
                guard case .disabled(let reason, _, _) = endpoint.state else { continue }
                disabled.append("\(endpoint.id) (\(reason))")
            }
            cursor = page.next
        } while cursor != nil
        guard let first = disabled.first else { return .ok("\(count) registered") }
        return .warning(
            "\(disabled.count) of \(count) are disabled, for example \(first)",
            action: Remedy.disabledEndpoints
        )
    }

    /// Checks for unreadable amounts of configured upstreams.
    private static func amounts(
        _ store: some UnreadableAmountStore,
        of upstreams: [HTTPSource]
    ) async throws(StoreError) -> HealthResult {
        let now = WallClock.now()
        let names = Set(upstreams.map(\.name))
        let unreadable = try await store.unreadableAmounts()
            .filter { names.contains($0.upstream) && $0.isRecent(at: now) }
        guard let first = unreadable.first else { return .ok("all are understood") }
        let others = unreadable.count == 1 ? "" : ", and of \(unreadable.count - 1) more upstreams"
        return .warning(first.message + others, action: UnreadableAmount.action)
    }

    /// Checks for stored entries that ended several processes.
    private static func setAside(
        _ store: some SuspectStore
    ) async throws(StoreError) -> HealthResult {
        let entries = try await store.setAsideEntries()
        guard let first = entries.first else { return .ok("no entry") }
        let count = entries.count == 1 ? "1 entry has" : "\(entries.count) entries have"
        return .warning(
            "\(count) ended several processes, for example \(first.id)",
            action: Remedy.setAside
        )
    }

    private static func version(_ client: RedisClient) async throws(StoreError) -> HealthResult {
        switch try await RedisRequirements.version(client) {
        case .known(let version):
            RedisRequirements.isRecent(version)
                ? .ok(version)
                : .failed(version, action: "upgrade Redis to 7.0 or newer")
        case .hidden(let why):
            .warning(why, action: "make sure that it is Redis 7.0 or newer")
        }
    }

    private static func eviction(_ client: RedisClient) async throws(StoreError) -> HealthResult {
        switch try await RedisRequirements.evictionPolicy(client) {
        case .known("noeviction"): .ok("noeviction")
        case .known(let policy):
            .failed(
                "\(policy): Redis may evict watches",
                action: "CONFIG SET maxmemory-policy noeviction, and write it to redis.conf"
            )
        case .hidden(let why):
            .warning(why, action: "make sure that it is noeviction")
        }
    }

    private static func persistence(
        _ client: RedisClient
    ) async throws(StoreError) -> HealthResult {
        switch try await RedisRequirements.appendsOnly(client) {
        case .known("1"): break
        case .known:
            return .warning(
                "no append-only file: a restart of Redis loses all watches accepted since the "
                    + "last snapshot",
                action: "CONFIG SET appendonly yes, and write it to redis.conf"
            )
        case .hidden(let why):
            return .warning(why, action: "make sure that it has an append-only file")
        }
        switch try await RedisRequirements.lastAppend(client) {
        case .known("ok"), .hidden: return .ok("append-only file")
        case .known:
            return .failed(
                "the last append failed",
                action: "check whether the disk of Redis is full or read-only"
            )
        }
    }

    private static func clock(_ client: RedisClient) async throws(StoreError) -> HealthResult {
        let time: [Int]
        do throws(RedisError) {
            time = try await client.send(RedisCommand("TIME")).array?.compactMap(\.int) ?? []
        } catch {
            throw StoreError(error)
        }
        guard time.count == 2 else {
            return .failed(
                "the response to TIME is not a time",
                action: "check that POLLER_REDIS_URL names a Redis server and not a proxy"
            )
        }
        let skew = Date().timeIntervalSince1970 - Double(time[0]) - Double(time[1]) / 1e6
        let text = "\(Int(saturating: (skew * 1000).rounded())) ms off this machine's clock"
        return skew.magnitude < 1
            ? .ok(text)
            : .warning(
                text,
                action: "run NTP on both: due times use the clock of Redis, signatures that of "
                    + "this machine"
            )
    }

    /// Checks that Redis runs the scripts: as functions, else by digest.
    ///
    /// The texts of all scripts have some 3 MB, which Redis would keep until it restarts. So they are not loaded while
    /// functions are accepted.
    private static func scripts(_ client: RedisClient) async throws(StoreError) -> HealthResult {
        do throws(RedisError) {
            guard let refusal = try await client.load(Scripts.live.library) else {
                return .ok("\(Scripts.live.all.count) loaded")
            }
            for script in Scripts.live.all {
                let loaded = try await client.send(
                    RedisCommand("SCRIPT", ["LOAD", .string(script.source)])
                )
                guard loaded.string == script.sha1 else {
                    return .failed(
                        "Redis returned an unexpected script digest",
                        action: "check that POLLER_REDIS_URL names a Redis server and not a proxy"
                    )
                }
            }
            return .warning(
                "\(Scripts.live.all.count) loaded, but Redis refuses them as functions, "
                    + "which costs "
                    + "Redis more: \(refusal)",
                action: "grant this Redis user FCALL, FUNCTION LOAD and FUNCTION DELETE"
            )
        } catch .reply(let error) {
            return .failed(
                "\(error)",
                action: "grant this Redis user EVALSHA, SCRIPT LOAD, FCALL and FUNCTION"
            )
        } catch {
            throw StoreError(error)
        }
    }

    private static func smtp(_ settings: Settings) async -> HealthResult {
        guard let mail = settings.mail else {
            return .warning(
                "no mail is sent",
                action: "set POLLER_SMTP_URL and POLLER_MAIL_FROM to notify mailto: endpoints"
            )
        }
        do {
            try await mail.relay.probe()
            guard settings.publicURL != nil else {
                return .warning(
                    "\(mail.relay); mails contain no unsubscribe link",
                    action: "set POLLER_PUBLIC_URL to the public https:// URL of this API"
                )
            }
            return .ok("\(mail.relay)")
        } catch {
            return .failed(
                "\(mail.relay): \(error)",
                action: "check POLLER_SMTP_URL and that this machine can connect to the relay"
            )
        }
    }
}

/// A named check.
///
/// It fails if the store is unavailable.
private struct Check: HealthCheck {
    let name: String
    let subject: HealthSubject
    private let body: @Sendable () async throws(StoreError) -> HealthResult

    init(
        _ name: String,
        _ subject: HealthSubject = .inStore,
        _ body: @escaping @Sendable () async throws(StoreError) -> HealthResult
    ) {
        self.name = name
        self.subject = subject
        self.body = body
    }

    func run() async -> HealthResult {
        do throws(StoreError) {
            return try await body()
        } catch {
            return .failed(
                "\(error)",
                action: "check that Redis is running and POLLER_REDIS_URL is correct"
            )
        }
    }
}
