import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// Searches for sources by the ids of their watches.
@Suite("Searches by source in Redis", .timeLimit(.minutes(5)))
struct SourceSearchTests {
    @Test("a watch without metadata is in no index bucket, and its source is found")
    func bare() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await harness.enqueue(0..<50)
            #expect(try await harness.keys(of: .searchBucket).isEmpty)
            #expect(try await harness.found("src_7") == ["src_7"])
        }
    }

    @Test("a reindex makes older watches searchable by newly configured metadata")
    func reindexed() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let before = RedisWatchStore(harness.redis, search: try SearchKeys([]))
            let keys = (0..<3).map { RedisHarness.key($0) }
            _ = try await before.enqueue(
                keys.map { try NewWatch(key: $0, metadata: #"{"customer":"Jane Doe"}"#) }
            )
            #expect(try await harness.found("jane").isEmpty)
            #expect(try await harness.reindex() == 3)
            #expect(try await Set(harness.found("jane")) == ["src_0", "src_1", "src_2"])
            #expect(try await harness.found("src_1") == ["src_1"])
            #expect(try await harness.store.audit() == [])
            for key in keys { _ = try await harness.watches.cancel(key) }
            try await harness.advance(by: .seconds(86_400))
            for partition in 0..<RedisHarness.partitionCount {
                while try await harness.watches.purge(
                    partition: partition,
                    retention: .seconds(3600)
                ) {}
            }
            #expect(
                try await harness.keys(of: .searchBucket).isEmpty,
                "all words are deleted with the watch"
            )
            #expect(try await harness.keys(of: .words).isEmpty)
        }
    }

    @Test(
        "a source among many lanes is found in all its accounts, with any page size",
        arguments: [
            (NameSearchLimits.standard, 500, 1), (NameSearchLimits.standard, 7, 13),
            (NameSearchLimits(lanes: 40, names: 100, namesPerCall: 7), 500, 40),
            (NameSearchLimits(lanes: 1000, names: 33, namesPerCall: 500), 500, 30),
        ]
    )
    func manyLanes(_ bounds: NameSearchLimits, _ limit: Int, _ pagesMax: Int) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let accounts = (0..<900).map { AccountID(unchecked: "acct_\($0)") }
            _ = try await harness.watches.enqueue(
                accounts.map { account in
                    let number = account.description.hasSuffix("0") ? 1 : 2
                    return try NewWatch(key: RedisHarness.key(number, of: account))
                }
            )
            let search = RedisSearch(redis: harness.redis, nameLimits: bounds)
            let query = try SearchQuery("src_1", keys: .standard, now: Timestamp(ms: 0))
            var found: [AccountID] = []
            var cursor: String?
            var pages = 0
            repeat {
                let page = try await search.page(
                    ListQuery(search: query, limit: limit, cursor: cursor)
                )
                #expect(page.items.count <= limit)
                found += page.items.map(\.watch.key.account)
                cursor = page.next
                pages += 1
            } while cursor != nil
            #expect(found.count == 90 && Set(found).count == 90)
            #expect(pages <= pagesMax, "\(pages) pages")
        }
    }
}

/// The counts of registered endpoints.
@Suite("Endpoint counts in Redis", .timeLimit(.minutes(5)))
struct EndpointCountTests {
    private let shop = AccountID(unchecked: "shop")

    @Test("an audit finds and repairs a wrong endpoint count")
    func audited() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await harness.register(shop, 2)
            let key = harness.layout.deliveryKeys.endpointCounts
            for (field, value) in [("shop", "7"), ("unknown", "1")] {
                _ = try await client.send(
                    RedisCommand("HSET", [.string(key), .string(field), .string(value)])
                )
            }
            let faults = try await harness.queue.audit()
            #expect(
                Set(faults) == [
                    "partition 0: account shop counts 7 endpoints and has 2",
                    "partition 0: account unknown counts 1 endpoints and has 0",
                ]
            )
            _ = try await harness.queue.audit(repairing: true)
            #expect(try await harness.queue.audit() == [])
            #expect(try await harness.endpoints.counts(of: [shop]) == [2])
            _ = try await client.send(RedisCommand("HDEL", [.string(key), "shop"]))
            #expect(
                try await harness.queue.audit()
                    == ["partition 0: account shop counts no endpoints and has 2"]
            )
        }
    }
}

extension RedisHarness {
    static func key(_ number: Int, of account: AccountID = .main) -> WatchKey {
        WatchKey(account: account, source: SourceID(unchecked: "src_\(number)"), kind: .source)
    }

    fileprivate func enqueue(_ numbers: Range<Int>) async throws {
        _ = try await watches.enqueue(numbers.map { try NewWatch(key: Self.key($0)) })
    }

    /// Returns the sources that a search text finds, once per match.
    fileprivate func found(_ text: String) async throws -> [String] {
        let query = try SearchQuery(text, keys: .standard, now: Timestamp(ms: 0))
        let page = try await watches.list(ListQuery(search: query))
        return page.items.map(\.watch.key.source.description)
    }

    func keys(of kind: KeyKind) async throws -> [String] {
        let pattern = "\(layout.watchKeys.namespace)\(kind.rawValue){*"
        let keys = try await client.send(RedisCommand("KEYS", [.string(pattern)]))
        return (keys.array ?? []).compactMap(\.string)
    }

    /// Indexes all watches as `pollerd reindex` does.
    fileprivate func reindex() async throws -> Int {
        var (count, cursor): (Int, String?) = (0, nil)
        repeat {
            let step = try await store.index(from: cursor)
            (count, cursor) = (count + step.count, step.next)
        } while cursor != nil
        return count
    }

    fileprivate func endpoint(_ account: AccountID) throws -> Endpoint {
        var generator = SystemRandomNumberGenerator()
        return Endpoint(
            id: EndpointID(using: &generator),
            account: account,
            url: try NotifyURL("https://a.example/hook"),
            secrets: [EndpointSecret(WebhookSecret(using: &generator))]
        )
    }

    fileprivate func register(_ account: AccountID, _ count: Int) async throws {
        for _ in 0..<count {
            _ = try await endpoints.create(endpoint(account), request: nil)
        }
    }
}
