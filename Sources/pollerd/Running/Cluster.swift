import Logging
import PollerOperations
import PollerQueue
import PollerRedis
import PollerWatches
import RedisClient

/// A process's view of the cluster's store: connected, checked, with an agreed layout.
///
/// The first process sets the number of partitions and stores it, because keys of one layout are useless in another. A
/// Redis that is loading or failing over is awaited. A Redis that may lose watches is rejected.
struct Cluster: Sendable {
    let client: RedisClient
    let layout: StoreLayout
    let redis: RedisPartitions
    let watches: RedisWatchStore
    let outbox: RedisOutbox
    let deliveries: RedisDeliveryQueue
    let members: RedisMembership
    let endpoints: RedisEndpointStore
    /// The secrets that all processes share.
    let secrets: RedisSecrets
    /// The owner ID of this process for its leases.
    let owner: OwnerID

    // These stores keep nothing in memory.
    var orders: RedisOrderStore { RedisOrderStore(redis) }
    var accounts: RedisAccountCounts { RedisAccountCounts(redis) }
    var incidents: RedisIncidentStore { RedisIncidentStore(redis) }
    var suspects: RedisSuspectStore { RedisSuspectStore(redis) }
    var keys: RedisKeyStore { RedisKeyStore(redis) }
    var requests: RedisIdempotencyStore { RedisIdempotencyStore(redis) }
    var trail: RedisAuditTrail { RedisAuditTrail(redis) }
    var activity: RedisActivityStore { RedisActivityStore(redis) }

    /// Waits for Redis without a time limit, then checks that it is safe for payments.
    ///
    /// `partitions` applies to a new store. An existing store keeps its number, and a warning is logged.
    ///
    /// - Throws: ``ConfigurationError`` if Redis is too old or may evict keys, or if only newer programs can read the
    ///   store. An unsuitable Redis would lose watches silently.
    static func join(
        _ client: RedisClient,
        namespace: String,
        partitions: Int?,
        durability: RedisDurability? = nil,
        search: SearchKeys = .standard,
        masterKeys: MasterKeys = .none,
        logger: Logger
    ) async throws -> Cluster {
        var hasLogged = false
        while true {
            do throws(RedisError) {
                try await client.waitUntilConnected(timeout: .seconds(5))
                break
            } catch {
                try Task.checkCancellation()
                // Logged once. The connection logs the reason repeatedly.
                logger.log(
                    level: hasLogged ? .debug : .warning,
                    "Redis is not reachable; waiting for it before starting",
                    metadata: ["hint": "check POLLER_REDIS_URL"]
                )
                hasLogged = true
            }
        }
        while true {
            do {
                let verdict = try await RedisRequirements.check(client)
                if let refusal = verdict.refusal { throw ConfigurationError(refusal) }
                for reason in verdict.warnings {
                    logger.warning(
                        "a requirement of Redis cannot be checked",
                        metadata: ["reason": "\(reason)"]
                    )
                }
                let refusal = try await StoreVersion.live.refusal(on: client, namespace: namespace)
                if let refusal { throw ConfigurationError("\(refusal)") }
                let layout = try await StoreLayout.loadOrCreate(
                    on: client,
                    namespace: namespace,
                    partitions: partitions
                        ?? (client.isCluster
                            ? StoreLayout.partitionsOnCluster : StoreLayout.partitionsOnOneRedis)
                )
                if let partitions, partitions != layout.partitions {
                    logger.warning(
                        "the store was made with another number of partitions; option ignored",
                        metadata: [
                            "partitions": "\(layout.partitions)", "asked": "\(partitions)",
                            "hint": "remove the option; pollerd repartition increases the number",
                        ]
                    )
                }
                await RedisFunctions(client: client, layout: layout, logger: logger)
                    .prepare(release: Release.version)
                var generator = SystemRandomNumberGenerator()
                let sealing = SealingGate()
                let redis = RedisPartitions(
                    client: client,
                    layout: layout,
                    durability: durability,
                    masterKeys: masterKeys,
                    sealing: sealing,
                    logger: logger
                )
                return Cluster(
                    client: client,
                    layout: layout,
                    redis: redis,
                    watches: RedisWatchStore(redis, search: search),
                    outbox: RedisOutbox(redis),
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
                    secrets: RedisSecrets(
                        client: client,
                        layout: layout,
                        masterKeys: masterKeys,
                        gate: sealing
                    ),
                    owner: OwnerID(using: &generator)
                )
            } catch StoreError.unavailable(let reason, _) {
                // Redis is loading its file or failing over, which is temporary.
                logger.warning("Redis is not ready", metadata: ["error": "\(reason)"])
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}
