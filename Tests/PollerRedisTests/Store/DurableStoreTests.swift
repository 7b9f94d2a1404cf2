import Logging
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// A master with one replica, and stores that accept only data that the replica has.
@Suite("Replication before data is accepted or published", .timeLimit(.minutes(5)))
struct DurableStoreTests {
    /// Long enough for a replica on a busy machine.
    private let durability = RedisDurability(replicas: 1, timeout: .seconds(3))
    private let key = WatchKey("src_1")

    @Test("a new or joined watch is accepted only after the replica has it")
    func accepted() async throws {
        try await withPair { store, _, replica in
            let watch = try NewWatch(key: key)
            #expect(try await store.enqueue([watch]).first?.outcome == .created)
            #expect(try await store.enqueue([watch]).first?.outcome == .joined)
            replica.pause()
            defer { replica.resume() }
            await #expect(throws: StoreError.self, "the join was accepted without a replica") {
                try await store.enqueue([watch])
            }
        }
    }

    @Test("confirming an outbox entry fails on a server that does not have it")
    func publishedAfterReplication() async throws {
        try await withPair { store, _, _ in
            let entry = try await record(store)
            let partition = store.partition(of: key)
            try await store.redis.confirm(partition: partition, entry: entry.id)
            await #expect(throws: StoreError.self) {
                try await store.redis.confirm(partition: partition, entry: "1-1")
            }
        }
    }

    @Test("live subscribers receive only events that the replica has")
    func live() async throws {
        try await withPair { store, _, replica in
            let partition = try await record(store).partition
            let outbox = RedisOutbox(store.redis)
            let references = try await outbox.references(partition: partition, after: "0", limit: 9)
            #expect(references.count == 1)
            #expect(try await outbox.events(of: references).compactMap(\.self).count == 1)
            #expect(try await store.deliverableEvents(of: key, after: 0, limit: 9).count == 1)
            replica.pause()
            defer { replica.resume() }
            await #expect(throws: StoreError.self) { try await outbox.events(of: references) }
            await #expect(throws: StoreError.self) {
                try await store.deliverableEvents(of: key, after: 0, limit: 9)
            }
        }
    }

    @Test("a full store grants only requests that may run when full, and keeps responses")
    func fullNames() async throws {
        try await withPair { store, client, _ in
            let requests = RedisIdempotencyStore(store.redis)
            func named(_ name: String, taken: Bool) -> IdempotentRequest {
                IdempotentRequest(name: name, fingerprint: "f", isTakenWhenFull: taken)
            }
            _ = try await requests.claim(named("before", taken: false), owner: "a")
            _ = try await client.send(RedisCommand("CONFIG", ["SET", "maxmemory", "1"]))
            await #expect(throws: StoreError.full) {
                try await requests.claim(named("enqueue", taken: false), owner: "a")
            }
            let claim = try await requests.claim(named("rotate", taken: true), owner: "a")
            #expect(claim == .granted(seed: "a"))
            for name in ["before", "rotate"] {
                #expect(try await requests.keep([1, 2], of: name, owner: "a"))
            }
            #expect(try await store.stats().pending == 0)
        }
    }

    @Test("a full store still polls, records, acknowledges and trims, but rejects new watches")
    func full() async throws {
        try await withPair { store, client, _ in
            _ = try await store.enqueue([try NewWatch(key: key)])
            _ = try await client.send(RedisCommand("CONFIG", ["SET", "maxmemory", "1"]))
            let layout = try await StoreLayout.created(on: client, partitions: 8)
            #expect(layout.partitions == 4)
            await #expect(throws: StoreError.full) {
                try await StoreLayout.loadOrCreate(on: client, namespace: "new", partitions: 4)
            }
            await #expect(throws: StoreError.full) {
                let other = WatchKey("src_2")
                _ = try await store.enqueue([try NewWatch(key: other)])
            }
            // The notifiers' group does not exist yet either.
            let entry = try await record(store, isEnqueuing: false)
            let outbox = RedisOutbox(store.redis)
            try await outbox.acknowledge(partition: entry.partition, [entry.id])
            let stream = RedisArgument.string(store.redis.keys.outbox(entry.partition))
            let readers = RedisCommand("XINFO", ["CONSUMERS", stream, "notifier"])
            #expect(try await client.send(readers).array?.count == 1)
            try await outbox.trim(partition: entry.partition, retention: .seconds(60))
            #expect(try await client.send(readers).array?.count == 1)
            try await outbox.trim(partition: entry.partition, retention: .zero)
            #expect(try await store.stats().outbox == 0)
            #expect(try await client.send(readers).array?.isEmpty == true)

            let marks = RedisSweepStore(client: client, layout: layout)
            try await marks.mark([("e:1", .seconds(60))], of: .main)
            #expect(try await marks.isMarked(["e:1"], of: .main) == [true])
        }
    }

    @Test("undelivered entries are counted correctly after Redis loses the group's read count")
    func undelivered() async throws {
        try await withPair { store, client, _ in
            let entry = try await record(store)
            #expect(try await store.stats().undelivered == 1)
            try await RedisOutbox(store.redis).acknowledge(partition: entry.partition, [entry.id])
            // As after a restart of Redis, which may forget how many entries the group has read.
            let outbox = RedisArgument.string(store.redis.keys.outbox(entry.partition))
            let forget: [RedisArgument] = [
                "SETID", outbox, "notifier", .string(entry.id), "ENTRIESREAD", 0,
            ]
            _ = try await client.send(RedisCommand("XGROUP", forget))
            #expect(try await store.stats().undelivered == 0)
        }
    }

    /// Polls the watch once, which records its status, and reads the outbox.
    private func record(
        _ store: RedisWatchStore,
        isEnqueuing: Bool = true
    ) async throws -> OutboxEntry {
        if isEnqueuing { _ = try await store.enqueue([try NewWatch(key: key)]) }
        let partition = store.partition(of: key)
        let owner = OwnerID(unchecked: "AAAAAAAAAAA")
        let claim = try await store.claim(
            ClaimRequest(partition: partition, limit: 1, owner: owner)
        )
        let lease = try #require(claim.leases.first)
        var state = lease.item.state
        state.status = SourceStatus(unchecked: "pending")
        let event = Event(lease.item, status: state.status, polledAt: claim.now)
        let commit = Commit(
            ref: lease.ref,
            verdict: .next(after: .seconds(60)),
            change: WatchChange(state: state, event: event)
        )
        #expect(try await store.commit([commit]) == [.done])
        let entries = try await RedisOutbox(store.redis).unacknowledged(
            partition: partition,
            consumer: owner,
            idle: .seconds(5),
            limit: 10
        )
        return try #require(entries.first)
    }

    private func withPair(
        _ body: (RedisWatchStore, RedisClient, RedisServerProcess) async throws -> Void
    ) async throws {
        let master = try RedisServerProcess(arguments: ["--repl-diskless-sync-delay", "0"])
        defer { master.stop() }
        let replica = try RedisServerProcess(
            arguments: ["--replicaof", "127.0.0.1 \(master.port)"]
        )
        defer { replica.stop() }
        try replica.await("INFO", "replication") { $0.contains("master_link_status:up") }
        var logger = Logger(label: "durable")
        logger.logLevel = .error
        let client = RedisClient(
            url: try RedisURL(master.url),
            configuration: .patient,
            logger: logger
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            try await client.waitUntilConnected(timeout: .seconds(60))
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let redis = RedisPartitions(
                client: client,
                layout: layout,
                durability: durability,
                logger: logger
            )
            try await body(RedisWatchStore(redis), client, replica)
            group.cancelAll()
        }
    }
}
