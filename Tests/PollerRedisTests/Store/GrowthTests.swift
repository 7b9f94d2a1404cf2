import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerDeliveries
@testable import PollerRedis

/// Operations in steps, regardless of a partition's size: the number of Redis calls, and their duration.
@Suite("Large partitions are processed in steps", .timeLimit(.minutes(5)))
struct GrowthTests {
    @Test("trimming an outbox of 25,000 entries takes several calls and stops at unread entries")
    func trim() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let keys = harness.layout.watchKeys
            let stream = keys.outbox(0)
            let fill = RedisScript(
                source: """
                    #!lua
                    for n = 1, 25000 do redis.call('XADD', KEYS[1], '1-' .. n, 'a', 'b') end
                    return redis.call('XGROUP', 'CREATE', KEYS[1], 'notifier', '1-24990')
                    """
            )
            _ = try await client.eval(fill, keys: [stream], arguments: [])
            _ = try await client.send(RedisCommand("CONFIG", ["RESETSTAT"]))
            try await harness.outbox.trim(partition: 0, retention: .seconds(60))
            #expect(try await calls(client) >= 3)
            let length = try await client.send(RedisCommand("XLEN", [.string(stream)]))
            #expect(length.int == 10)
            #expect(try await harness.outbox.bounds()[0].oldest == "1-24991")
            #expect(try await harness.outbox.bounds()[0].trimmed == "1-24990")
        }
    }

    @Test("an audit step costs no more in a large partition, and each lane is checked once")
    func audit() async throws {
        var costs: [Int] = []
        for count in [500, 30_000] {
            try await withRedis { client in
                let layout = try await StoreLayout.created(on: client, partitions: 1)
                let store = Self.store(client, layout)
                try await enqueue(count, in: store)
                // These are in the list of leases, and in no schedule.
                let taken = try await store.claim(
                    ClaimRequest(partition: 0, limit: 64, lease: .seconds(60))
                )
                #expect(taken.leases.count == 64)
                // The fastest of some steps, because other work slows some down. For the large partition, steps are
                // repeated until one is undisturbed.
                let limit = costs.first.map { $0 * 3 } ?? 0
                var (least, steps) = (Int.max, 0)
                while steps < 10 || (limit > 0 && least >= limit && steps < 200) {
                    _ = try await client.send(RedisCommand("CONFIG", ["RESETSTAT"]))
                    _ = try await store.audit(after: "lanes.0.0", repairing: false)
                    least = min(least, try await used(client))
                    steps += 1
                }
                costs.append(least)
                var (checked, cursor) = (0, "lanes.0.0")
                while cursor.hasPrefix("lanes") {
                    let page = try await store.audit(after: cursor, repairing: false)
                    #expect(page.faults == [])
                    checked += page.checked
                    cursor = page.next ?? ""
                }
                #expect(checked == count)
            }
        }
        // The same 500 lanes; all names together took five times as long.
        #expect(costs[1] < costs[0] * 3, "\(costs) µs")
    }

    @Test("a lane that is missing from all lists is audited through its leases")
    func lost() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 1)
            let store = Self.store(client, layout)
            try await enqueue(2, in: store)
            _ = try await store.claim(ClaimRequest(partition: 0, limit: 1, lease: .seconds(60)))
            let lanes = try await client.send(RedisCommand("KEYS", ["t:c{0}*"])).array ?? []
            #expect(!lanes.isEmpty)
            for kind in [KeyKind.occupiedLanes, .readyUrgent, .readyNormal] {
                let list = "t:\(kind.rawValue){0}"
                _ = try await client.send(RedisCommand("DEL", [.string(list)]))
            }
            for lane in lanes.compactMap(\.string) {
                _ = try await client.send(RedisCommand("HSET", [.string(lane), "f", "7"]))
            }
            let first = try await store.audit(after: "lanes.0.0", repairing: false)
            #expect(first.checked == 1)
            #expect(first.faults.contains { $0.contains("counts 7 in flight and has 1 leases") })
        }
    }

    @Test("a page of empty lanes costs no more when there are many, and each is listed once")
    func settings() async throws {
        var costs: [Int] = []
        for count in [300, 20_000] {
            try await withRedis { client in
                let layout = try await StoreLayout.created(on: client, partitions: 1)
                let store = Self.store(client, layout)
                try await enqueue(5, in: store)
                let names = RedisScript(
                    source: """
                        #!lua
                        for n = 1, tonumber(ARGV[1]) do
                          redis.call('SADD', KEYS[1], 'acct_s' .. n .. '/source')
                          redis.call('HSET', KEYS[2] .. 'acct_s' .. n .. '/source', 'x', '1')
                        end
                        return 1
                        """
                )
                let kinds = [KeyKind.lanesWithSettings, .lane].map { "t:\($0.rawValue){0}" }
                _ = try await client.eval(names, keys: kinds, arguments: [RedisArgument(count)])
                var (seen, cursor): (Set<LaneID>, String?) = ([], nil)
                var (told, least) = (0, Int.max)
                repeat {
                    _ = try await client.send(RedisCommand("CONFIG", ["RESETSTAT"]))
                    let page = try await store.lanes(limit: 70, cursor: cursor)
                    if told > 70 { least = min(least, try await used(client)) }
                    #expect(page.items.count <= 70)
                    told += page.items.count
                    seen.formUnion(page.items.map(\.lane))
                    cursor = page.next
                } while cursor != nil
                #expect(told == count + 5)
                #expect(seen.count == count + 5)
                costs.append(least)
            }
        }
        // All names together took ten times as long.
        #expect(costs[1] < costs[0] * 3, "\(costs) µs")
    }

    private static func store(_ client: RedisClient, _ layout: StoreLayout) -> RedisWatchStore {
        let logger = Logger(label: "growth")
        return RedisWatchStore(RedisPartitions(client: client, layout: layout, logger: logger))
    }

    private func enqueue(_ count: Int, in store: RedisWatchStore) async throws {
        let watches = try (0..<count).map { number in
            try NewWatch(
                key: WatchKey("src_\(number)", of: AccountID(unchecked: "acct_\(number)"))
            )
        }
        _ = try await store.enqueue(watches)
    }

    private func calls(_ client: RedisClient) async throws -> Int {
        let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
        return try #require(stats.firstMatch(of: /cmdstat_fcall:calls=(\d+)/).flatMap { Int($0.1) })
    }

    private func used(_ client: RedisClient) async throws -> Int {
        let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
        return try #require(
            stats.firstMatch(of: /cmdstat_fcall:calls=\d+,usec=(\d+)/).flatMap { Int($0.1) }
        )
    }
}
