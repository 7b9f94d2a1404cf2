import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerDeliveries
@testable import PollerRedis

/// Events in the store that are damaged or of another release.
@Suite("Unreadable events")
struct UnreadableEventsTests {
    private static let notifier = OwnerID(unchecked: "AAAAAAAAAAA")

    @Test("a delivery passes over the damaged end of a log, and it is logged once with its watch")
    func end() async throws {
        try await withStore { store, log, key in
            _ = try await store.enqueue([try NewWatch(key: key)])
            _ = try await store.cancel(key)
            #expect(try await store.deliverableLog(of: key, after: 0, limit: 9).last?.event != nil)
            #expect(log.errors.isEmpty)
            try await damage(key, of: store)
            // As two endpoints with an attempt each.
            for _ in 0..<2 {
                let logged = try await store.deliverableLog(of: key, after: 0, limit: 9)
                #expect(logged.map(\.seq) == [1] && logged.last?.event == nil)
            }
            #expect(try await store.events(of: key, after: 0, limit: 9).isEmpty)
            #expect(log.errors == ["event not understood account=acct_1 seq=1 source=src_1"])
        }
    }

    @Test("a page of a log without deliveries names a damaged event, too")
    func page() async throws {
        try await withStore { store, log, key in
            _ = try await store.enqueue([try NewWatch(key: key)])
            _ = try await store.cancel(key)
            try await damage(key, of: store)
            for _ in 0..<2 {
                #expect(try await store.events(of: key, after: 0, limit: 9).isEmpty)
            }
            #expect(log.errors == ["event not understood account=acct_1 seq=1 source=src_1"])
        }
    }

    @Test(
        "damaged events do not end a page while the log goes on",
        arguments: [[], [0], [1], [0, 1], [1, 2], [0, 1, 2], [0, 1, 2, 3]],
        [
            Array("damaged".utf8), [CompactedEvents.mark, 1, 0, 0, 9, 1, 2],
            [CompactedEvents.mark, 0, 0, 0, 9, 1, 2],
        ]
    )
    func further(damaged: [Int], bytes: [UInt8]) async throws {
        try await withStore { store, _, key in
            for _ in 0..<4 {
                _ = try await store.enqueue([try NewWatch(key: key)])
                _ = try await store.cancel(key)
            }
            let all = try await store.events(of: key, after: 0, limit: 9)
            try #require(all.count == 4)
            for index in damaged { try await damage(key, at: index, bytes, of: store) }
            let left = all.enumerated().filter { !damaged.contains($0.offset) }.map(\.element)
            for (seq, limit) in (0...4).flatMap({ seq in (1...5).map { (seq, $0) } }) {
                let page = try await store.events(of: key, after: seq, limit: limit)
                #expect(page == Array(left.filter { $0.seq > seq }.prefix(limit)))
                let log = try await store.deliverableLog(of: key, after: seq, limit: limit)
                #expect(log.map(\.seq) == Array((seq + 1...5).prefix(limit).prefix { $0 <= 4 }))
            }
        }
    }

    @Test(
        "one unreadable event among several of an entry is logged, and the entry is kept",
        arguments: [true, false]
    )
    func together(isFirst: Bool) async throws {
        try await withStore { store, log, key in
            for _ in 0..<2 {
                _ = try await store.enqueue([try NewWatch(key: key)])
                _ = try await store.cancel(key)
            }
            let all = try await store.events(of: key, after: 0, limit: 9)
            try #require(all.count == 2)
            let json = (isFirst ? all[0] : all[1]).json.replacing("acct_1", with: "acct_2")
                .replacing(#""object":null"#, with: #""object":{}"#)
            let other = try #require(Event(json: json))
            let entry = CompactedEvents.bytes(
                restoring: isFirst ? [other, all[1]] : [all[0], other]
            )
            let list = RedisArgument.string(list(of: key, in: store))
            _ = try await store.redis.client.send(RedisCommand("DEL", [list]))
            _ = try await store.redis.client.send(RedisCommand("RPUSH", [list, .bytes(entry)]))
            let read = try await store.events(of: key, after: 0, limit: 9)
            #expect(read.map(\.id) == [(isFirst ? all[1] : all[0]).id])
            #expect(
                log.errors == [
                    "event not understood account=acct_1 seq=\(isFirst ? 1 : 2) source=src_1"
                ]
            )
            try await removeBodies(key, of: store)
            #expect(try await entries(of: key, in: store) == [entry])
        }
    }

    @Test(
        "retention leaves a log with a damaged entry as it is",
        arguments: [
            Array("damaged".utf8), [CompactedEvents.mark, 1, 0, 0, 9, 1, 2],
            [CompactedEvents.mark, 0, 0, 0, 9, 1, 2],
        ]
    )
    func kept(bytes: [UInt8]) async throws {
        try await withStore { store, _, key in
            for _ in 0..<3 {
                _ = try await store.enqueue([try NewWatch(key: key)])
                _ = try await store.cancel(key)
            }
            try await damage(key, at: 0, bytes, of: store)
            let log = try await entries(of: key, in: store)
            try await removeBodies(key, of: store)
            #expect(try await entries(of: key, in: store) == log)
        }
    }

    @Test("an entry of the outbox with a damaged event is logged with its watch")
    func outbox() async throws {
        try await withStore { store, log, key in
            _ = try await store.enqueue([try NewWatch(key: key)])
            _ = try await store.cancel(key)
            try await damage(key, of: store)
            for _ in 0..<2 {
                let read = try await RedisOutbox(store.redis).read(
                    partition: store.partition(of: key),
                    consumer: Self.notifier,
                    idle: .seconds(5),
                    limit: 4
                )
                #expect(read.fresh.isEmpty)
            }
            let error = try #require(log.errors.first)
            #expect(log.errors.count == 1)
            #expect(error.hasPrefix("outbox entries gone or not understood"))
            #expect(error.contains("\(key.id) 1"), "\(error)")
        }
    }

    /// Replaces an event in the log of a watch, by default the newest.
    private func damage(
        _ key: WatchKey,
        at index: Int = -1,
        _ bytes: [UInt8] = Array("damaged".utf8),
        of store: RedisWatchStore
    ) async throws {
        let list = RedisArgument.string(list(of: key, in: store))
        _ = try await store.redis.client.send(
            RedisCommand("LSET", [list, RedisArgument(index), .bytes(bytes)])
        )
    }

    /// Reduces the events of all watches that have closed.
    private func removeBodies(_ key: WatchKey, of store: RedisWatchStore) async throws {
        // A watch closed in the current millisecond is not older than it.
        let closed = try await time(of: store)
        while try await time(of: store) <= closed {}
        while try await store.removeBodies(partition: store.partition(of: key), retention: .zero) {}
    }

    /// Returns the clock of Redis in ms.
    private func time(of store: RedisWatchStore) async throws -> Int {
        let reply = try await store.redis.client.send(RedisCommand("TIME", []))
        let parts = try #require(reply.array?.map(\.int))
        try #require(parts.count == 2)
        return try #require(parts[0]) * 1000 + (try #require(parts[1])) / 1000
    }

    /// Returns the entries of the log of a watch.
    private func entries(of key: WatchKey, in store: RedisWatchStore) async throws -> [[UInt8]?]? {
        let range = [RedisArgument(0), RedisArgument(-1)]
        let list = RedisArgument.string(list(of: key, in: store))
        let reply = try await store.redis.client.send(RedisCommand("LRANGE", [list] + range))
        return reply.array?.map(\.bytes)
    }

    /// Returns the key of the log of a watch.
    private func list(of key: WatchKey, in store: RedisWatchStore) -> String {
        "\(store.redis.keys.namespace)\(KeyKind.log.rawValue)"
            + "{\(store.partition(of: key))}\(key.id)"
    }

    /// Runs `body` with a store on a fresh redis-server, what it logs, and the key of a watch.
    private func withStore(
        _ body: (RedisWatchStore, RecordedLog, WatchKey) async throws -> Void
    ) async throws {
        try await withRedis { client in
            let log = RecordedLog()
            let redis = RedisPartitions(
                client: client,
                layout: try await StoreLayout.created(on: client, partitions: 4),
                logger: log.logger
            )
            try await body(
                RedisWatchStore(redis),
                log,
                WatchKey("src_1", of: AccountID(unchecked: "acct_1"))
            )
        }
    }
}
