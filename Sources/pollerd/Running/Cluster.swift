import Logging
import Poller
import PollerRedis
import RedisClient

/// One process's view of the cluster's store: connected, checked, agreed on its layout.
struct Cluster: Sendable {
    let client: RedisClient
    let layout: StoreLayout
    let watches: RedisWatchStore
    let deliveries: RedisDeliveryQueue
    let members: RedisMembership
    let endpoints: RedisEndpointStore
    /// This process, among all that hold leases.
    let owner: OwnerID

    /// Waits for Redis as long as it takes, then checks that it can be trusted with payments.
    ///
    /// - Throws: ``ConfigurationError`` when Redis is too old or may evict keys: such a store
    ///   loses work silently, so we do not start on it.
    static func join(
        _ client: RedisClient,
        namespace: String,
        durability: RedisDurability? = nil,
        logger: Logger
    ) async throws -> Cluster {
        while true {
            do throws(RedisError) {
                try await client.waitUntilConnected(timeout: .seconds(5))
                break
            } catch {
                try Task.checkCancellation()
                logger.warning(
                    "waiting for Redis",
                    metadata: ["error": "\(error)", "hint": "is POLLER_REDIS_URL right?"]
                )
            }
        }
        while true {
            do {
                try await RedisRequirements.check(client, logger: logger)
                let layout = try await StoreLayout.agreed(
                    on: client,
                    namespace: namespace,
                    partitions: client.isCluster
                        ? StoreLayout.partitionsOnCluster : StoreLayout.partitionsOnOneRedis
                )
                var chance = SystemRandomNumberGenerator()
                return Cluster(
                    client: client,
                    layout: layout,
                    watches: RedisWatchStore(
                        client: client,
                        layout: layout,
                        durability: durability,
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
                        logger: logger
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
