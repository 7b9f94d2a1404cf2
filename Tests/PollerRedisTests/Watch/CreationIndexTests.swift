import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

@Suite("Index by creation time", .timeLimit(.minutes(5)))
struct CreationIndexTests {
    private func key(_ number: Int, account: String = "acct_a") -> WatchKey {
        WatchKey("src_\(number)", of: AccountID(unchecked: account))
    }

    private func enqueue(_ harness: RedisHarness, _ numbers: Range<Int>) async throws {
        _ = try await harness.watches.enqueue(numbers.map { try NewWatch(key: key($0)) })
    }

    /// Returns the keys of a kind in the store, with the number of members and the encoding of each.
    private func leaves(
        _ harness: RedisHarness,
        _ kind: KeyKind
    ) async throws -> [(count: Int, encoding: String)] {
        let pattern = "\(harness.layout.watchKeys.namespace)\(kind.rawValue){*}?*"
        let reply = try await harness.client.send(RedisCommand("KEYS", [.string(pattern)]))
        var leaves: [(count: Int, encoding: String)] = []
        for name in (reply.array ?? []).compactMap(\.string) {
            let key = RedisArgument.string(name)
            let count = try await harness.client.send(RedisCommand("ZCARD", [key])).int
            let encoding = try await harness.client.send(
                RedisCommand("OBJECT", ["ENCODING", key])
            )
            leaves.append((count ?? 0, encoding.string ?? ""))
        }
        return leaves
    }

    @Test("index leaves stay compact, and are full when watches arrive one by one")
    func leaves() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            for number in 0..<450 {
                try await enqueue(harness, number..<number + 1)
                try await harness.advance(by: .milliseconds(1))
            }
            // One account has one lane, which is in one partition.
            let ordered = try await leaves(harness, .openCreated)
            #expect(ordered.map(\.count).reduce(0, +) == 450)
            #expect(ordered.count == 5)
            // All are created in one millisecond, in no particular order.
            try await enqueue(harness, 1000..<1900)
            let all = try await leaves(harness, .openCreated)
            #expect(all.map(\.count).reduce(0, +) == 1350)
            #expect(all.allSatisfy { $0.count <= 100 && $0.encoding == "listpack" })
            #expect(all.count < 5 + 20)
            for number in 0..<450 { _ = try await harness.watches.cancel(key(number)) }
            #expect(try await leaves(harness, .openCreated).map(\.count).reduce(0, +) == 900)
            #expect(try await leaves(harness, .closedCreated).map(\.count).reduce(0, +) == 450)
        }
    }

    @Test("closing many watches at once keeps all of them in the index, in compact leaves")
    func closing() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            // Many of one millisecond, and leaves of other times before and after them.
            for number in 0..<250 {
                try await enqueue(harness, number..<number + 1)
                try await harness.advance(by: .milliseconds(1))
            }
            try await enqueue(harness, 1000..<1600)
            try await harness.advance(by: .milliseconds(1))
            try await enqueue(harness, 2000..<2050)
            for limit in [1, 7, 70, 822] {
                #expect(try await close(harness, limit) == limit)
                for kind in [KeyKind.openCreated, .closedCreated] {
                    let leaves = try await leaves(harness, kind)
                    #expect(leaves.allSatisfy { $0.count <= 100 && $0.encoding == "listpack" })
                }
                // It compares each watch with its place in the index.
                #expect(try await harness.store.audit() == [])
            }
            #expect(try await leaves(harness, .openCreated).isEmpty)
            #expect(try await leaves(harness, .closedCreated).map(\.count).reduce(0, +) == 900)
            let seen = try await harness.listed(byPagesOf: 100)
            #expect(Set(seen).count == 900 && seen.count == 900)
            #expect(seen.first.map { "\($0)".hasPrefix("src_20") } == true)
            #expect(seen.last == key(0).source)
        }
    }

    /// Polls at most `limit` watches and closes them in one call; returns their number.
    private func close(_ harness: RedisHarness, _ limit: Int) async throws -> Int {
        let claim = try await harness.watches.claim(
            ClaimRequest(
                partition: harness.partition(of: key(0).lane),
                limit: limit,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                lease: .seconds(10),
                lane: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1000)
            )
        )
        let commits = claim.leases.map { lease in
            Commit(
                ref: lease.ref,
                verdict: .close(.settled),
                change: WatchChange(state: lease.item.state),
                signal: .fine
            )
        }
        return try await harness.watches.commit(commits).count { $0 == .done }
    }

    @Test(
        "a cursor with an invalid entry is rejected",
        arguments: ["", "soon", "179500000012a"]
    )
    func cursors(_ entry: String) {
        let cursor = Base64URL.encode(Packed.join(["t", entry]).utf8)
        #expect(WatchListPosition(cursor: cursor, of: PartitionMap(partitions: 16)) == nil)
        #expect(CreationPosition(cursor: cursor) == nil)
    }
}
