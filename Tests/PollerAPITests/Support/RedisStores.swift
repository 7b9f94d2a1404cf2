import Foundation
import Logging
import PollerIdentity
import PollerRedis
import PollerTesting
import RedisClient

/// The stores of one test: a namespace on the redis-server that all tests of the process share.
struct RedisStores: Sendable {
    private let redis: RedisPartitions
    let watches: RedisWatchStore
    let outbox: RedisOutbox
    let deliveries: RedisDeliveryQueue
    let endpoints: RedisEndpointStore
    let members: RedisMembership
    var orders: RedisOrderStore { RedisOrderStore(redis) }
    var accounts: RedisAccountCounts { RedisAccountCounts(redis) }
    var incidents: RedisIncidentStore { RedisIncidentStore(redis) }
    var suspects: RedisSuspectStore { RedisSuspectStore(redis) }
    var keys: RedisKeyStore { RedisKeyStore(redis) }
    var trail: RedisAuditTrail { RedisAuditTrail(redis) }
    var activity: RedisActivityStore { RedisActivityStore(redis) }

    /// Creates empty stores.
    init(partitions: Int = 4) async throws {
        let client = try await Self.server.value.client
        let layout = try await StoreLayout.loadOrCreate(
            on: client,
            namespace: "t\(UUID().uuidString.prefix(8))",
            partitions: partitions
        )
        let quiet = LiveAPI.quiet
        redis = RedisPartitions(client: client, layout: layout, logger: quiet)
        watches = RedisWatchStore(redis)
        outbox = RedisOutbox(redis)
        deliveries = RedisDeliveryQueue(client: client, layout: layout, logger: quiet)
        endpoints = RedisEndpointStore(client: client, layout: layout, logger: quiet)
        members = RedisMembership(client: client, layout: layout)
    }

    /// The server's time, which is that of this machine.
    static var now: Timestamp { Timestamp(ms: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// The server and its client, which run until the process ends.
    private static let server = Task {
        let process = try RedisServerProcess()
        let client = RedisClient(
            url: try RedisURL(process.url),
            configuration: .patient,
            logger: LiveAPI.quiet
        )
        let running = Task { try await client.run() }
        try await client.waitUntilConnected(timeout: .seconds(60))
        return (process: process, client: client, running: running)
    }
}
