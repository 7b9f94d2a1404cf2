import PollerIdentity
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@Suite("Data kept for an empty lane")
struct LaneMemoryTests {
    private let key = WatchKey("src_1", of: AccountID(unchecked: "acct_a"))

    @Test("an empty lane without a rate or failures leaves no data")
    func nothing() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await settle(harness, rate: 0, signal: .fine)
            #expect(try await ttl(of: harness, client) == -2)
        }
    }

    @Test("the data of an empty lane expires, and is kept while the lane has items")
    func remembered() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await settle(harness, rate: 0.1, signal: .failing)
            // The ten seconds of the rate and the hour of the failures.
            let ttl = try await ttl(of: harness, client)
            #expect((3_600_000...3_610_000).contains(ttl), "TTL \(ttl)")
            _ = try await harness.watches.enqueue([try NewWatch(key: key)])
            #expect(try await self.ttl(of: harness, client) == -1)
            #expect(try await harness.lanes.lane(key.lane)?.failures == 1)
        }
    }

    /// Enqueues the watch, polls it once and settles it.
    private func settle(_ harness: RedisHarness, rate: Double, signal: LaneSignal) async throws {
        _ = try await harness.watches.enqueue([try NewWatch(key: key)])
        let claim = try await harness.watches.claim(
            ClaimRequest(
                partition: harness.partition(of: key.lane),
                limit: 1,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                lease: .seconds(10),
                lane: LaneLimit(ratePerSecond: rate, burst: 1, inFlightMax: 10)
            )
        )
        let lease = try #require(claim.leases.first)
        let commit = Commit(
            ref: lease.ref,
            verdict: .close(.settled),
            change: WatchChange(state: lease.item.state),
            signal: signal
        )
        #expect(try await harness.watches.commit([commit]) == [.done])
    }

    /// Returns the TTL of the lane's hash: ms, -1 without expiry, -2 without a hash.
    private func ttl(of harness: RedisHarness, _ client: RedisClient) async throws -> Int {
        let partition = harness.partition(of: key.lane)
        let name = "\(harness.layout.watchKeys.namespace)c{\(partition)}\(key.lane)"
        let reply = try await client.send(RedisCommand("PTTL", [.string(name)]))
        return try #require(reply.int)
    }
}
