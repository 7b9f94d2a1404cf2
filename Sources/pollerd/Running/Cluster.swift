import Logging
import Poller
import PollerQueue
import PollerRedis
import RedisClient

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
