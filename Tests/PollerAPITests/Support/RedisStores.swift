import Foundation
import Logging
import PollerIdentity
import PollerRedis
import PollerTesting
import RedisClient

/// The stores of one test: a namespace on the redis-server that all tests of the process share.
struct RedisStores: Sendable {
    let watches: RedisWatchStore
    let outbox: RedisOutbox
    let orders: RedisOrderStore
    let accounts: RedisAccountBook
    let incidents: RedisIncidentStore
    let suspects: RedisSuspectStore
    let deliveries: RedisDeliveryQueue
    let endpoints: RedisEndpointStore
    let keys: RedisKeyStore
    let trail: RedisAuditTrail
    let activity: RedisActivityStore
    let members: RedisMembership

    /// Creates empty stores.
    init(partitions: Int = 4) async throws {
        let client = try await Self.server.value.client
        let layout = try await StoreLayout.loadOrCreate(
            on: client,
            namespace: "t\(UUID().uuidString.prefix(8))",
            partitions: partitions
        )
        let quiet = LiveAPI.quiet
        let redis = RedisPartitions(client: client, layout: layout, logger: quiet)
        watches = RedisWatchStore(redis)
        outbox = RedisOutbox(redis)
        orders = RedisOrderStore(redis)
        accounts = RedisAccountBook(redis)
        incidents = RedisIncidentStore(redis)
        suspects = RedisSuspectStore(redis)
        deliveries = RedisDeliveryQueue(client: client, layout: layout, logger: quiet)
        endpoints = RedisEndpointStore(client: client, layout: layout, logger: quiet)
        keys = RedisKeyStore(client: client, layout: layout, logger: quiet)
        trail = RedisAuditTrail(client: client, layout: layout, logger: quiet)
        activity = RedisActivityStore(client: client, layout: layout)
        members = RedisMembership(client: client, layout: layout)
    }

    /// The server's time, which is that of this machine.
    static var now: Timestamp { Timestamp(ms: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// The server and its client, which run until the process ends.
    private static let server = Task {
        let process = try RedisServerProcess()
        let client = RedisClient(url: try RedisURL(process.url), logger: LiveAPI.quiet)
        let running = Task { try await client.run() }
        try await client.waitUntilConnected(timeout: .seconds(10))
        return (process: process, client: client, running: running)
    }
}
