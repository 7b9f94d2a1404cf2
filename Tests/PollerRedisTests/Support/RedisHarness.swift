import Foundation
import Logging
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Synchronization
import Testing

@testable import PollerRedis

/// The real scripts on a real redis-server, with the clock in a key that tests move.
///
/// One server serves a whole suite, and each harness has its own namespace.
final class RedisHarness: StoreHarness {
    static let partitionCount = 4
    /// The number of keys that the key store accepts.
    static let keysMax = 20
    static let auditBounds = AuditBounds(countMax: 30, ageMax: .seconds(86_400))
    static let masterKey = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"

    let client: RedisClient
    let redis: RedisPartitions
    let store: RedisWatchStore
    let outbox: any Outbox
    let queue: RedisDeliveryQueue
    let layout: StoreLayout
    private let clockKey: String
    private let membership: RedisMembership
    private let registry: RedisEndpointStore
    private let saved = Mutex<[(key: String, dump: RedisValue)]>([])

    var watches: any WatchStore { store }
    var suspects: any SuspectStore { RedisSuspectStore(redis) }
    var orders: RedisOrderStore { RedisOrderStore(redis) }
    var accounts: RedisAccountCounts { RedisAccountCounts(redis) }
    var incidents: RedisIncidentStore { RedisIncidentStore(redis) }
    var deliveries: any DeliveryQueue & DeliveryOperations & MarkWatermarkStore { queue }
    var endpoints: any EndpointStore { registry }
    var keys: any KeyStore { RedisKeyStore(redis, countMax: Self.keysMax) }
    var trail: any AuditTrail { RedisAuditTrail(redis, bounds: Self.auditBounds) }
    var activity: any ActivityStore { RedisActivityStore(redis) }
    var requests: any IdempotencyStore { RedisIdempotencyStore(redis) }
    var spentTokens: any SpentTokens { RedisSpentTokens(client: client, layout: layout) }
    var lanes: any LaneControl { store }
    var members: any Membership { membership }
    /// A Cluster cannot be copied at one moment.
    var canRewind: Bool { !client.isCluster }

    /// Creates an empty store of a format; `scripts` use the test's clock.
    ///
    /// With `former` partitions, it is getting more, and none of them is split yet.
    convenience init(
        client: RedisClient,
        scripts: Scripts = .virtual,
        form: Int = StoreVersion.live.current,
        former: Int? = nil,
        partitions: Int = partitionCount
    ) async throws {
        let namespace = "t\(UUID().uuidString.prefix(8))"
        let layoutKey = RedisArgument.string("\(namespace):layout")
        let formed = RedisCommand("HSET", [layoutKey, StoreVersion.field, RedisArgument(form)])
        _ = try await client.send(formed)
        let made = try await StoreLayout.loadOrCreate(
            on: client,
            namespace: namespace,
            partitions: former ?? partitions
        )
        let layout = try await RedisRepartition.begin(
            made,
            partitions: partitions,
            on: client
        )
        try self.init(client: client, layout: layout, scripts: scripts)
        // The outbox's ids are real time, so virtual time begins there.
        try await set(Int(Date().timeIntervalSince1970 * 1000))
    }

    /// Creates another process on an existing store.
    init(client: RedisClient, layout: StoreLayout, scripts: Scripts = .virtual) throws {
        self.client = client
        self.layout = layout
        clockKey = "\(layout.namespace):clock"
        var logger = Logger(label: "conformance")
        logger.logLevel = .error
        // The store is encrypted, so that the suite covers encryption, too.
        let masterKeys = try MasterKeys(Self.masterKey)
        redis = RedisPartitions(
            client: client,
            layout: layout,
            scripts: scripts,
            masterKeys: masterKeys,
            logger: logger
        )
        store = RedisWatchStore(redis)
        outbox = RedisOutbox(redis)
        queue = RedisDeliveryQueue(client: client, layout: layout, scripts: scripts, logger: logger)
        membership = RedisMembership(client: client, layout: layout, scripts: scripts)
        registry = RedisEndpointStore(
            client: client,
            layout: layout,
            scripts: scripts,
            masterKeys: masterKeys,
            countMax: Self.endpointsMax,
            logger: logger
        )
    }

    func advance(by duration: Duration) async throws {
        try await step(by: duration)
        // As if a process had claimed all the while.
        let pass = RedisScript(
            source: """
                #!lua
                if redis.call('HEXISTS', KEYS[1], 'seen') == 1 then
                  redis.call('HINCRBY', KEYS[1], 'seen', ARGV[1])
                end
                return 1
                """
        )
        for keys in [layout.watchKeys, layout.deliveryKeys] {
            for partition in 0..<Self.partitionCount {
                _ = try await client.eval(
                    pass,
                    keys: [keys.meta(partition)],
                    arguments: [RedisArgument(duration.ms)]
                )
            }
        }
    }

    func step(by duration: Duration) async throws {
        let commands = (0..<Self.partitionCount).map { partition in
            RedisCommand("INCRBY", ["\(clockKey){\(partition)}", RedisArgument(duration.ms)])
        }
        _ = try await client.pipeline(commands)
    }

    func partition(of lane: LaneID) -> Int {
        store.redis.keys.partition(of: lane.description)
    }

    func audit() async throws -> [String] {
        try await store.audit() + queue.audit()
    }

    /// Returns the sources of all watches, listed by pages of `limit`.
    func listed(byPagesOf limit: Int) async throws -> [SourceID] {
        var sources: [SourceID] = []
        var cursor: String?
        repeat {
            let page = try await store.list(ListQuery(limit: limit, cursor: cursor))
            sources += page.items.map(\.watch.key.source)
            cursor = page.next
        } while cursor != nil
        return sources
    }

    func checkpoint() async throws {
        var dumps: [(key: String, dump: RedisValue)] = []
        for key in try await keys() {
            let dump = try await client.send(RedisCommand("DUMP", [.string(key)]))
            dumps.append((key, dump))
        }
        saved.withLock { $0 = dumps }
    }

    func rewind() async throws {
        let dumps = saved.withLock(\.self)
        for key in try await keys() {
            _ = try await client.send(RedisCommand("DEL", [.string(key)]))
        }
        for (key, dump) in dumps {
            guard let bytes = dump.bytes else { continue }
            _ = try await client.send(RedisCommand("RESTORE", [.string(key), "0", .bytes(bytes)]))
        }
    }

    /// Returns the keys of the watches' queue.
    ///
    /// These are all keys of the namespace except the clock, the layout and the deliveries.
    private func keys() async throws -> [String] {
        let all = try await client.send(RedisCommand("KEYS", [.string("\(layout.namespace):*")]))
        return (all.array ?? []).compactMap(\.string).filter { key in
            !["clock", "layout", "d:"].contains { key.hasPrefix("\(layout.namespace):\($0)") }
        }
    }

    private func set(_ ms: Int) async throws {
        let commands = (0..<Self.partitionCount).map { partition in
            RedisCommand("SET", ["\(clockKey){\(partition)}", RedisArgument(ms)])
        }
        _ = try await client.pipeline(commands)
    }
}

extension StoreLayout {
    /// Creates the layout of the namespace `t`.
    static func created(on client: RedisClient, partitions: Int) async throws -> StoreLayout {
        try await loadOrCreate(on: client, namespace: "t", partitions: partitions)
    }
}

/// Runs `body` with a client of a fresh redis-server, which may have extra options.
func withRedis(
    _ arguments: [String] = [],
    _ body: (RedisClient) async throws -> Void
) async throws {
    let server = try RedisServerProcess(arguments: arguments)
    defer { server.stop() }
    try await withClient(of: server.url, body)
}

/// Runs `body` with a client of a fresh Redis Cluster of three masters.
func withRedisCluster(_ body: (RedisClient) async throws -> Void) async throws {
    let cluster = try await RedisClusterProcess.start(masters: 3)
    defer { withExtendedLifetime(cluster) {} }
    try await withClient(of: cluster.url, body)
}

/// Runs `body` with a client of a server.
func withClient(
    of url: String,
    _ body: (RedisClient) async throws -> Void
) async throws {
    var logger = Logger(label: "redis")
    logger.logLevel = .error
    let client = RedisClient(
        url: try RedisURL(url),
        configuration: .patient,
        logger: logger
    )
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await client.run() }
        do {
            try await client.waitUntilConnected(timeout: .seconds(60))
            try await body(client)
        } catch {
            group.cancelAll()
            throw error
        }
        group.cancelAll()
    }
}

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
