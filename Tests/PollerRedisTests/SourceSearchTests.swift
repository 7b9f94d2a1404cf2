import Poller
import PollerTesting
import RedisClient
import Testing

@testable import PollerRedis

/// Sources are found by the names of their watches, and those that older releases have enqueued as well.
@Suite("searches by source in Redis", .timeLimit(.minutes(2)))
struct SourceSearchTests {
    @Test("a bare watch is in no bucket of the index")
    func bare() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await harness.enqueue(0..<50)
            #expect(try await harness.keys(of: .searchBucket).isEmpty)
            #expect(try await harness.found("src_7") == ["src_7"])
        }
    }

    @Test("a source that has an entry is found by that, once, and no longer has it after a reindex")
    func reindexed() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await harness.enqueue(0..<3)
            let key = RedisHarness.key(1)
            try await harness.enter(key)
            try await harness.forgetLanes()
            #expect(try await harness.found("src_1") == ["src_1"], "by its entry")
            // One of its account is enqueued by this release: the lane is known, and the entry still there.
            try await harness.enqueue(3..<4)
            #expect(try await harness.found("src_1") == ["src_1"], "once")
            #expect(try await harness.found("SRC_1") == ["src_1"], "an entry knows no case")
            #expect(try await harness.reindex() == 4)
            #expect(try await harness.keys(of: .searchBucket).isEmpty)
            for number in 0..<4 {
                #expect(try await harness.found("src_\(number)") == ["src_\(number)"])
            }
            #expect(try await harness.store.audit() == [])
        }
    }

    @Test("a reindex keeps the other entries of a watch, and an entry that is an order's too")
    func others() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let (one, two) = (RedisHarness.key(1), RedisHarness.key(2))
            _ = try await harness.watches.enqueue([
                try NewWatch(key: one, metadata: "{\"customer\":\"Jane Doe\"}"),
                try NewWatch(key: two, order: OrderID(unchecked: "src_2")),
            ])
            try await harness.enter(one)
            #expect(try await harness.reindex() == 2)
            for text in ["jane", "doe", "src_1"] {
                #expect(try await harness.found(text) == ["src_1"], "\(text)")
            }
            for text in ["order=src_2", "src_2"] {
                #expect(try await harness.found(text) == ["src_2"], "\(text)")
            }
            _ = try await harness.watches.cancel(one)
            _ = try await harness.watches.cancel(two)
            try await harness.advance(by: .seconds(86_400))
            for partition in 0..<RedisHarness.partitionCount {
                while try await harness.watches.purge(
                    partition: partition,
                    retention: .seconds(3600)
                ) {}
            }
            #expect(try await harness.keys(of: .searchBucket).isEmpty, "all are gone with it")
            #expect(try await harness.keys(of: .words).isEmpty)
        }
    }

    @Test(
        "in many lanes a source is found in all of its accounts, whatever a page takes",
        arguments: [
            (NameBounds.standard, 500, 1), (NameBounds.standard, 7, 13),
            (NameBounds(lanes: 40, names: 100, asked: 7), 500, 40),
            (NameBounds(lanes: 1000, names: 33, asked: 500), 500, 30),
        ]
    )
    func manyLanes(_ bounds: NameBounds, _ limit: Int, _ pagesMax: Int) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let accounts = (0..<900).map { AccountID(unchecked: "acct_\($0)") }
            _ = try await harness.watches.enqueue(
                accounts.map { account in
                    let number = account.description.hasSuffix("0") ? 1 : 2
                    return try NewWatch(key: RedisHarness.key(number, of: account))
                }
            )
            var store = harness.store
            store.nameBounds = bounds
            let query = try SearchQuery("src_1", keys: .standard, now: Timestamp(ms: 0))
            var found: [AccountID] = []
            var cursor: String?
            var pages = 0
            repeat {
                let page = try await store.list(
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

/// The counts of registered endpoints beside a release that does not keep them.
@Suite("counts of endpoints in Redis", .timeLimit(.minutes(2)))
struct EndpointCountTests {
    private let shop = AccountID(unchecked: "shop")
    private let other = AccountID(unchecked: "other")

    @Test("what another release registers and removes is counted by the next who asks")
    func besideAnother() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let made = try await harness.register(shop, 3)
            try await harness.register(other, 1)
            // As a release without counts does: the registry changes and the counts do not.
            try await harness.registerByAnother("ep_AAAAAAAAAAAAAAAA", shop)
            let endpoint = try harness.endpoint(shop)
            let refused = try await harness.endpoints.create(
                endpoint,
                request: nil,
                accountMax: 4
            )
            #expect(refused == .tooManyOfAccount)
            #expect(try await harness.endpoints.counts(of: [shop, other]) == [4, 1])
            try await harness.registerByAnother("ep_BBBBBBBBBBBBBBBB", other)
            _ = try await harness.endpoints.remove(made[0])
            #expect(try await harness.endpoints.counts(of: [shop, other]) == [3, 2])
            #expect(try await harness.queue.audit() == [])
        }
    }

    @Test("a count that is wrong is found and mended")
    func audited() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await harness.register(shop, 2)
            let key = harness.layout.deliveryKeys.endpointCounts
            for (field, value) in [("shop", "7"), ("nobody", "1")] {
                _ = try await client.send(
                    RedisCommand("HSET", [.string(key), .string(field), .string(value)])
                )
            }
            let faults = try await harness.queue.audit()
            #expect(
                Set(faults) == [
                    "partition 0: account shop counts 7 endpoints and has 2",
                    "partition 0: account nobody counts 1 endpoints and has 0",
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
    /// A watch's key.
    static func key(_ number: Int, of account: AccountID = .main) -> WatchKey {
        WatchKey(account: account, source: SourceID(unchecked: "src_\(number)"), kind: .source)
    }

    fileprivate func enqueue(_ numbers: Range<Int>) async throws {
        _ = try await watches.enqueue(numbers.map { try NewWatch(key: Self.key($0)) })
    }

    /// Sources that somebody finds who types this, each as often as it is found.
    fileprivate func found(_ text: String) async throws -> [String] {
        let query = try SearchQuery(text, keys: .standard, now: Timestamp(ms: 0))
        let page = try await watches.list(ListQuery(search: query))
        return page.items.map(\.watch.key.source.description)
    }

    /// Puts a watch under the entry of its source, as releases before this one have.
    fileprivate func enter(_ key: WatchKey) async throws {
        let term = try #require(SearchTerm.former(of: key)).description
        let keys = layout.watchKeys
        let partition = partition(of: key.lane)
        let (bucket, rest) = (term.prefix(SearchTerm.bucketLength), term.dropFirst(3))
        let item = "\(keys.namespace)w{\(partition)}\(key.id)"
        let known = try await client.send(RedisCommand("HGET", [.string(item), "t"])).string ?? ""
        for command in [
            RedisCommand(
                "HSET",
                [
                    .string("\(keys.namespace)S{\(partition)}\(bucket)"),
                    .string("\(rest)\(key.id)"), "",
                ]
            ),
            RedisCommand("HSET", [.string(item), "t", .string(known + term)]),
        ] {
            _ = try await client.send(command)
        }
    }

    /// Makes the store one whose watches were all enqueued by a release that knew no lanes.
    fileprivate func forgetLanes() async throws {
        for key in try await keys(of: .knownLanes) {
            _ = try await client.send(RedisCommand("DEL", [.string(key)]))
        }
    }

    func keys(of kind: KeyKind) async throws -> [String] {
        let pattern = "\(layout.watchKeys.namespace)\(kind.rawValue){*"
        let keys = try await client.send(RedisCommand("KEYS", [.string(pattern)]))
        return (keys.array ?? []).compactMap(\.string)
    }

    /// Walks through all watches as `pollerd reindex` does.
    fileprivate func reindex() async throws -> Int {
        var (count, cursor): (Int, String?) = (0, nil)
        repeat {
            let step = try await store.index(from: cursor)
            (count, cursor) = (count + step.count, step.next)
        } while cursor != nil
        return count
    }

    fileprivate func endpoint(_ account: AccountID) throws -> Endpoint {
        var chance = SystemRandomNumberGenerator()
        return Endpoint(
            id: EndpointID(using: &chance),
            account: account,
            url: try NotifyURL("https://a.example/hook"),
            secrets: [EndpointSecret(WebhookSecret(using: &chance))]
        )
    }

    @discardableResult
    fileprivate func register(_ account: AccountID, _ count: Int) async throws -> [EndpointID] {
        var made: [EndpointID] = []
        for _ in 0..<count {
            let endpoint = try endpoint(account)
            _ = try await endpoints.create(endpoint, request: nil)
            made.append(endpoint.id)
        }
        return made
    }

    /// Copies an endpoint under another id with the writes of a release that keeps no counts.
    fileprivate func registerByAnother(_ id: String, _ account: AccountID) async throws {
        let records = "\(layout.deliveryKeys.namespace)g{0}"
        let registry = layout.deliveryKeys.registry
        let all = try await client.send(RedisCommand("HVALS", [.string(records)])).array ?? []
        let record = try #require(
            all.compactMap(\.string).first { $0.contains(" \(account) ") }
        )
        let version = try #require(
            Int(try await client.send(RedisCommand("HGET", [.string(registry), "v"])).string ?? "")
        )
        for command in [
            RedisCommand("HSET", [.string(records), .string(id), .string(record)]),
            RedisCommand("HSET", [.string(registry), "v", RedisArgument(version + 1)]),
            RedisCommand(
                "ZADD",
                [
                    .string("\(layout.deliveryKeys.namespace)v{0}"), RedisArgument(version + 1),
                    .string(id),
                ]
            ),
        ] {
            _ = try await client.send(command)
        }
    }
}
