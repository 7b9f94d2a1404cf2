import Foundation
import Logging
import Poller
import PollerRedis
import RedisClient
import SafeNumbers

/// One process's view of the cluster's store: connected, checked, agreed on its layout.
///
/// The number of partitions is agreed once, by whoever comes first, and kept in the store: keys of one layout mean
/// nothing in another. A Redis that is loading or failing over is waited for; one that may lose work is refused.
struct Cluster: Sendable {
    let client: RedisClient
    let layout: StoreLayout
    let watches: RedisWatchStore
    let deliveries: RedisDeliveryQueue
    let members: RedisMembership
    let endpoints: RedisEndpointStore
    let keys: RedisKeyStore
    let requests: RedisNamedRequests
    let trail: RedisAuditTrail
    let activity: RedisActivityStore
    /// What all processes share.
    let secrets: RedisSecrets
    /// This process, among all that hold leases.
    let owner: OwnerID

    /// Waits for Redis as long as it takes, then checks that it can be trusted with payments.
    ///
    /// `partitions` are those of a store that is made now; one that is there keeps its own, and says so.
    ///
    /// - Throws: ``ConfigurationError`` when Redis is too old or may evict keys: such a store
    ///   loses work silently, so we do not start on it; and when only newer programs can read it.
    static func join(
        _ client: RedisClient,
        namespace: String,
        partitions: Int?,
        durability: RedisDurability? = nil,
        search: SearchKeys = .standard,
        masterKeys: MasterKeys = .none,
        logger: Logger
    ) async throws -> Cluster {
        var hasSaidSo = false
        while true {
            do throws(RedisError) {
                try await client.waitUntilConnected(timeout: .seconds(5))
                break
            } catch {
                try Task.checkCancellation()
                // Once: why it does not answer is told by the connection, again and again.
                logger.log(
                    level: hasSaidSo ? .debug : .warning,
                    "waiting for Redis, and starting when it answers",
                    metadata: ["hint": "is POLLER_REDIS_URL right?"]
                )
                hasSaidSo = true
            }
        }
        while true {
            do {
                try await RedisRequirements.check(client, logger: logger)
                if let tooNew = try await StoreVersion.refusal(on: client, namespace: namespace) {
                    throw ConfigurationError("\(tooNew)")
                }
                let layout = try await StoreLayout.agreed(
                    on: client,
                    namespace: namespace,
                    partitions: partitions
                        ?? (client.isCluster
                            ? StoreLayout.partitionsOnCluster : StoreLayout.partitionsOnOneRedis)
                )
                if let partitions, partitions != layout.partitions {
                    logger.warning(
                        "the store was made with another number of partitions, and keeps it",
                        metadata: [
                            "partitions": "\(layout.partitions)", "asked": "\(partitions)",
                            "hint": "take it away; pollerd repartition gives a store more",
                        ]
                    )
                }
                await RedisFunctions(client: client, layout: layout, logger: logger)
                    .prepare(release: PollerdCommand.version)
                var chance = SystemRandomNumberGenerator()
                let sealing = SealingGate()
                return Cluster(
                    client: client,
                    layout: layout,
                    watches: RedisWatchStore(
                        client: client,
                        layout: layout,
                        durability: durability,
                        search: search,
                        masterKeys: masterKeys,
                        sealing: sealing,
                        logger: logger
                    ),
                    deliveries: RedisDeliveryQueue(
                        client: client,
                        layout: layout,
                        durability: durability,
                        logger: logger
                    ),
                    members: RedisMembership(client: client, layout: layout),
                    endpoints: RedisEndpointStore(
                        client: client,
                        layout: layout,
                        durability: durability,
                        masterKeys: masterKeys,
                        sealing: sealing,
                        logger: logger
                    ),
                    keys: RedisKeyStore(
                        client: client,
                        layout: layout,
                        durability: durability,
                        logger: logger
                    ),
                    requests: RedisNamedRequests(
                        client: client,
                        layout: layout,
                        durability: durability,
                        logger: logger
                    ),
                    trail: RedisAuditTrail(client: client, layout: layout, logger: logger),
                    activity: RedisActivityStore(client: client, layout: layout),
                    secrets: RedisSecrets(
                        client: client,
                        layout: layout,
                        masterKeys: masterKeys,
                        gate: sealing
                    ),
                    owner: OwnerID(using: &chance)
                )
            } catch StoreError.unavailable(let reason) {
                // Loading its file, failing over: it will pass.
                logger.warning("Redis is not ready", metadata: ["error": "\(reason)"])
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

/// What a Redis must be for this system to keep its promises.
enum RedisRequirements {
    /// Streams, `ZRANGE BYSCORE` and script flags as used here came with 7.0.
    static let majorVersionMin = 7

    /// Refuses a Redis that is too old or may evict keys.
    static func check(_ client: RedisClient, logger: Logger) async throws {
        let version = try await self.version(client)
        guard let major = Int(decimal: version.prefix { $0 != "." }), major >= majorVersionMin
        else {
            throw ConfigurationError(
                "Redis \(version) is too old: version \(majorVersionMin).0 or newer is needed"
            )
        }
        switch try await evictionPolicy(client) {
        case "noeviction": break
        case nil:
            logger.warning("CONFIG is not allowed: cannot check maxmemory-policy")
        case .some(let policy):
            throw ConfigurationError(
                "Redis has maxmemory-policy \(policy) and would drop payments when memory is "
                    + "short: run CONFIG SET maxmemory-policy noeviction (and write it to "
                    + "redis.conf), then start again"
            )
        }
    }

    /// `7.0.15`; of several servers the oldest.
    static func version(_ client: RedisClient) async throws(StoreError) -> String {
        try await info(client, "server").compactMap { $0["redis_version"] }
            .min { $0.compare($1, options: .numeric) == .orderedAscending } ?? "of unknown version"
    }

    /// The eviction policy, of several servers the first that is not `noeviction`; nil when we may
    /// not ask.
    static func evictionPolicy(_ client: RedisClient) async throws(StoreError) -> String? {
        do throws(RedisError) {
            let command = RedisCommand("CONFIG", ["GET", "maxmemory-policy"])
            let policies = try await client.sendToMasters(command)
                .compactMap { $0.reply.array?.last?.string }
            return policies.first { $0 != "noeviction" } ?? policies.first
        } catch .reply {
            return nil
        } catch {
            throw StoreError(error)
        }
    }

    /// The share of the memory it may use that the fullest master uses; nil where none has a bound.
    static func memoryUsed(_ client: RedisClient) async throws(StoreError) -> Double? {
        try await info(client, "memory").compactMap { facts in
            guard let most = facts["maxmemory"].flatMap(Double.init), most > 0 else { return nil }
            return facts["used_memory"].flatMap(Double.init).map { $0 / most }
        }.max()
    }

    /// A section of INFO of each master.
    static func info(
        _ client: RedisClient,
        _ section: String
    ) async throws(StoreError) -> [[String: String]] {
        do throws(RedisError) {
            return try await client.sendToMasters(RedisCommand("INFO", [.string(section)]))
                .map { facts($0.reply.string ?? "") }
        } catch {
            throw StoreError(error)
        }
    }

    private static func facts(_ text: String) -> [String: String] {
        var facts: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { facts[String(parts[0])] = String(parts[1]) }
        }
        return facts
    }
}
