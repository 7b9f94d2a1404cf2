import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerOperations
@testable import PollerRedis

/// The sorted index of words, which finds prefixes.
@Suite("Word index in Redis", .timeLimit(.minutes(5)))
struct WordIndexTests {
    private static let count = 900

    @Test("a shared prefix finds each watch once across pages until the watches are deleted")
    func many() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let keys = (0..<Self.count).map { RedisHarness.key($0) }
            _ = try await harness.watches.enqueue(
                try keys.enumerated().map { number, key in
                    try NewWatch(
                        key: key,
                        metadata: #"{"order":"ORD-\#(number)","customer":"Ord \#(number % 7)"}"#
                    )
                }
            )
            for (text, wanted, limit) in [
                ("ord", Self.count, 100), ("ord-", Self.count, 500), ("ord-12", 11, 50),
                ("ord-899", 1, 50),
                ("order=ord-12", 1, 50), ("order=ORD-12*", 11, 3), ("ord-9999", 0, 50),
            ] {
                let found = try await Self.found(text, limit, in: harness)
                #expect(Set(found).count == wanted, "\(text)")
                #expect(found.count == wanted, "\(text) finds each watch once")
            }
            for key in keys { _ = try await harness.watches.cancel(key) }
            #expect(
                try await Self.found("ord-12", 50, in: harness).count == 11,
                "closed watches, too"
            )
            try await harness.advance(by: .seconds(86_400))
            for partition in 0..<RedisHarness.partitionCount {
                while try await harness.watches.purge(
                    partition: partition,
                    retention: .seconds(3600)
                ) {}
            }
            #expect(try await harness.keys(of: .words).isEmpty)
            #expect(try await harness.keys(of: .searchBucket).isEmpty)
        }
    }

    @Test("a page reads a bounded number of words, even if the caller may see no match")
    func pages() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            _ = try await harness.watches.enqueue(
                try (0..<3000).map { number in
                    try NewWatch(
                        key: RedisHarness.key(number),
                        order: OrderID(unchecked: "ORD-\(number)")
                    )
                }
            )
            let search = try SearchQuery("or", keys: .standard, now: Timestamp(ms: 0))
            let stranger = AccountSet.some([AccountID(unchecked: "acct_none")])
            for (accounts, wanted) in [(stranger, 0), (AccountSet.all, 3000)] {
                var (found, looked, cursor): (Int, Int, String?) = (0, 0, nil)
                repeat {
                    let page = try await harness.watches.list(
                        ListQuery(accounts: accounts, search: search, limit: 500, cursor: cursor)
                    )
                    // The first part of all partitions, and then some calls of one.
                    #expect(page.looked <= 3200 + 2200, "\(page.looked)")
                    (found, looked, cursor) =
                        (found + page.items.count, looked + page.looked, page.next)
                } while cursor != nil
                #expect(found == wanted)
                #expect(looked >= 3000, "each word is counted, also those of other accounts")
            }
        }
    }

    @Test(
        "a search of many pages finds each watch once, although earlier ones are deleted meanwhile",
        arguments: ["acme", "a-customer-with-a-long-name"]
    )
    func removals(_ customer: String) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let keys = (0..<1500).map { RedisHarness.key($0) }
            _ = try await harness.watches.enqueue(
                try keys.map { key in
                    try NewWatch(key: key, metadata: #"{"customer":"\#(customer)"}"#)
                }
            )
            let query = try SearchQuery(
                "customer=\(customer)",
                keys: .standard,
                now: Timestamp(ms: 0)
            )
            var found: [WatchKey] = []
            var cursor: String?
            repeat {
                let page = try await harness.watches.list(
                    ListQuery(search: query, limit: 70, cursor: cursor)
                )
                found += page.items.map(\.watch.key)
                cursor = page.next
                for item in page.items.prefix(9) {
                    _ = try await harness.watches.cancel(item.watch.key)
                }
                try await harness.advance(by: .seconds(2))
                for partition in 0..<RedisHarness.partitionCount {
                    let second = Duration.seconds(1)
                    _ = try await harness.watches.purge(partition: partition, retention: second)
                }
            } while cursor != nil
            #expect(found.count == keys.count)
            #expect(Set(found) == Set(keys))
        }
    }

    @Test("a complete order ID finds one watch, and its prefix finds every watch that shares it")
    func long() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            for number in 0..<20 {
                let order = OrderID(unchecked: "order-2026-11-27-0000\(number + 10)")
                _ = try await harness.watches.enqueue([
                    try NewWatch(key: RedisHarness.key(number), order: order)
                ])
            }
            #expect(
                try await Self.found("order-2026-11-27-000013", 3, in: harness) == [
                    RedisHarness.key(3)
                ]
            )
            #expect(
                try await Self.found("order=ORDER-2026-11-27-000013", 3, in: harness) == [
                    RedisHarness.key(3)
                ]
            )
            #expect(try await Self.found("order-2026-11-27-00001", 3, in: harness).count == 10)
            #expect(try await Self.found("order-2026", 7, in: harness).count == 20)
        }
    }

    @Test("words in any script or with special characters are indexed and found")
    func signs() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let names = [
                "+49 170", "#1", "_x", "{y}", "~z", "Ωmega", "李小龙", "0", "a|b", "100%", "жук",
            ]
            for (number, name) in names.enumerated() {
                let metadata = #"{"customer":"\#(name)"}"#
                _ = try await harness.watches.enqueue([
                    try NewWatch(key: RedisHarness.key(number), metadata: metadata)
                ])
            }
            for (number, name) in names.enumerated() {
                let found = try await Self.found("customer=\"\(name)\"", 50, in: harness)
                #expect(found == [RedisHarness.key(number)], "\(name)")
                #expect(
                    try await Self.found("\"\(name)\"", 50, in: harness).contains(
                        RedisHarness.key(number)
                    )
                )
            }
            #expect(try await Self.found("李小", 50, in: harness) == [RedisHarness.key(6)])
        }
    }

    @Test("a watch keeps a bounded number of words after many joins, and its record stays compact")
    func bounded() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let key = RedisHarness.key(1)
            for number in 0..<40 {
                let metadata =
                    #"{"order":"word-of-16-chars\#(number)","customer":"Jane\#(number) Doe\#(number)"}"#
                _ = try await harness.watches.enqueue([try NewWatch(key: key, metadata: metadata)])
            }
            let item = harness.layout.watchKeys.item(
                key.id.description,
                harness.partition(of: key.lane)
            )
            for field in [ItemField.words, .moreWords] {
                let value = try await client.send(
                    RedisCommand(
                        "HGET",
                        [.string(item), .string(String(Character(field.rawValue)))]
                    )
                )
                #expect((1...64).contains(value.bytes?.count ?? 0), "\(field)")
            }
            let encoding = try await client.send(
                RedisCommand("OBJECT", ["ENCODING", .string(item)])
            )
            #expect(encoding.string == "listpack" || encoding.string == "ziplist")
            #expect(
                try await Self.found("word-of-16-chars0", 50, in: harness).isEmpty,
                "the record differs"
            )
        }
    }

    @Test("a cursor that does not fit the search is rejected or finds nothing")
    func places() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let map = harness.layout.watchKeys.map
            var position = EntryPosition(of: map)
            for scan in ["zz", "0x41", "é", String(repeating: "6", count: 300)] {
                position.scan = scan
                #expect(
                    WatchListPosition(cursor: WatchListPosition.found(position).cursor, of: map)
                        == nil,
                    "\(scan)"
                )
            }
            position.scan = "6162"
            let cursor = WatchListPosition.found(position).cursor
            let query = try SearchQuery("order=a77", keys: .standard, now: Timestamp(ms: 0))
            let page = try await harness.watches.list(ListQuery(search: query, cursor: cursor))
            #expect(page.items.isEmpty)
        }
    }

    /// The guide *Growth* has the figures.
    @Test("a word takes at most 90 bytes of Redis")
    func weight() async throws {
        let bare = try await Self.bytes(search: [])
        let sorted = try await Self.bytes(search: ["order", "customer"])
        let word = (sorted - bare) / 2
        print("bytes of a word in the index: \(word)")
        #expect((30...90).contains(word))
    }

    private static func bytes(search names: [String]) async throws -> Int {
        var bytes = 0
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 1)
            let redis = RedisPartitions(
                client: client,
                layout: layout,
                logger: Logger(label: "weight")
            )
            let store = RedisWatchStore(redis, search: try SearchKeys(names))
            _ = try await store.enqueue(
                (0..<5000).map { number in
                    let mixed = (number &* 7919) % 5000 + 100_000
                    return try NewWatch(
                        key: RedisHarness.key(number),
                        metadata: #"{"order":"A\#(mixed)","customer":"c\#(mixed)@shop.de"}"#
                    )
                }
            )
            let keys = try await client.send(RedisCommand("KEYS", ["t:*"])).array ?? []
            let replies = try await client.pipeline(
                keys.compactMap(\.string).map {
                    RedisCommand("MEMORY", ["USAGE", .string($0), "SAMPLES", "0"])
                }
            )
            bytes = replies.reduce(0) { $0 + ($1.int ?? 0) } / 5000
        }
        return bytes
    }

    private static func found(
        _ text: String,
        _ limit: Int,
        in harness: RedisHarness
    ) async throws -> [WatchKey] {
        let query = try SearchQuery(text, keys: .standard, now: Timestamp(ms: 0))
        var found: [WatchKey] = []
        var cursor: String?
        repeat {
            let page = try await harness.watches.list(
                ListQuery(search: query, limit: limit, cursor: cursor)
            )
            found += page.items.map(\.watch.key)
            cursor = page.next
        } while cursor != nil
        return found
    }
}
