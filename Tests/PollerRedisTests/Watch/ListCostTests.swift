import PollerIdentity
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches
import RedisClient
import Testing

/// The cost of a page for Redis with few and with many lanes, in the same run.
@Suite("Cost of list pages", .timeLimit(.minutes(5)))
struct ListCostTests {
    private static let few = 100
    private static let many = 10_000

    @Test("a page of watches, lanes or counts costs no more in a store with many lanes")
    func pages() async throws {
        let small = try await costs(lanes: Self.few)
        let large = try await costs(lanes: Self.many)
        for (name, cost) in large {
            let before = try #require(small[name])
            // A hundred times the lanes: a read of all of them costs about fifty times more.
            #expect(cost < before * 8 + 50, "\(name): \(before) → \(cost) µs a page")
        }
    }

    @Test("paging through an unchanged store lists each watch once and every lane")
    func complete() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await enqueue(harness, lanes: 700)
            let seen = try await harness.listed(byPagesOf: 37)
            #expect(seen.count == 700)
            #expect(Set(seen).count == 700)
            #expect(try await harness.store.stats().lanes == 700)
            var lanes: Set<LaneID> = []
            var cursor: String?
            repeat {
                let page = try await harness.store.lanes(limit: 50, cursor: cursor)
                lanes.formUnion(page.items.map(\.lane))
                cursor = page.next
            } while cursor != nil
            #expect(lanes.count == 700)
        }
    }

    @Test("a page of the newest watches takes no more commands or bytes in a larger store")
    func newest() async throws {
        let small = try await newestCosts(watches: 2000)
        let large = try await newestCosts(watches: 6000)
        for (name, cost) in large {
            let before = try #require(small[name])
            // A page of 50 begins in at most one other leaf in each partition.
            #expect(cost.commands <= before.commands + 16, "\(name): \(before) → \(cost)")
            #expect(cost.bytes <= before.bytes * 5 / 4, "\(name): \(before) → \(cost)")
        }
    }

    private struct PageCost {
        /// The commands of Redis, including those of scripts.
        var commands = 0
        /// The bytes of Redis' replies.
        var bytes = 0
    }

    /// Returns the cost of a page deep in each list.
    ///
    /// A tenth of the watches are open, and a tenth of these belong to one account.
    private func newestCosts(watches count: Int) async throws -> [String: PageCost] {
        var costs: [String: PageCost] = [:]
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            func key(_ number: Int) -> WatchKey {
                WatchKey("src_\(number)", of: AccountID(unchecked: "acct_\(number % 10)"))
            }
            for start in stride(from: 0, to: count, by: 250) {
                let some = start..<start + 250
                _ = try await harness.watches.enqueue(some.map { try NewWatch(key: key($0)) })
                for number in some where number / 10 % 10 != 0 {
                    _ = try await harness.watches.cancel(key(number))
                }
                try await harness.advance(by: .milliseconds(10))
            }
            let mine = AccountSet.some([AccountID(unchecked: "acct_3")])
            for (name, query) in [
                ("all", ListQuery(limit: 50)), ("open", ListQuery(state: .open, limit: 50)),
                ("closed", ListQuery(state: .closed, limit: 50)),
                ("an account's", ListQuery(accounts: mine, limit: 20)),
            ] {
                let first = try await harness.store.list(query)
                let next = ListQuery(
                    state: query.state,
                    accounts: query.accounts,
                    limit: query.limit,
                    cursor: first.next
                )
                let before = try await spent(client)
                let page = try await harness.store.list(next)
                let after = try await spent(client)
                #expect(page.items.count == query.limit)
                costs[name] = PageCost(
                    commands: after.commands - before.commands,
                    bytes: after.bytes - before.bytes
                )
            }
        }
        return costs
    }

    private func spent(_ client: RedisClient) async throws -> PageCost {
        let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
        let net = try await client.send(RedisCommand("INFO", ["stats"])).string ?? ""
        var cost = PageCost()
        for line in stats.matches(of: /cmdstat_(\w+)\S*:calls=(\d+)/) where line.1 != "info" {
            cost.commands += Int(line.2) ?? 0
        }
        cost.bytes = Int(net.firstMatch(of: /total_net_output_bytes:(\d+)/)?.1 ?? "") ?? 0
        return cost
    }

    /// Returns the µs of Redis for a page of each kind, the mean of several.
    private func costs(lanes: Int) async throws -> [String: Double] {
        var costs: [String: Double] = [:]
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await enqueue(harness, lanes: lanes)
            costs["watches"] = try await cost(client) {
                _ = try await harness.store.list(ListQuery(limit: 10))
            }
            costs["accounts"] = try await cost(client) {
                let page = try await harness.accounts.accounts(limit: 10, cursor: nil)
                _ = try await harness.accounts.openWatches(of: page.items)
            }
            costs["lanes"] = try await cost(client) {
                _ = try await harness.store.lanes(limit: 10, cursor: nil)
            }
        }
        return costs
    }

    private func cost(
        _ client: RedisClient,
        _ read: () async throws -> Void
    ) async throws -> Double {
        let rounds = 20
        try await read()
        _ = try await client.send(RedisCommand("CONFIG", ["RESETSTAT"]))
        for _ in 0..<rounds { try await read() }
        let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
        let used = try #require(stats.firstMatch(of: /cmdstat_fcall:calls=\d+,usec=(\d+)/)?.1)
        return Double(used).map { $0 / Double(rounds) } ?? .infinity
    }

    private func enqueue(_ harness: RedisHarness, lanes: Int) async throws {
        let watches = try (0..<lanes).map { number in
            try NewWatch(
                key: WatchKey("src_\(number)", of: AccountID(unchecked: "acct_\(number)"))
            )
        }
        _ = try await harness.watches.enqueue(watches)
    }
}
