import PollerHints
import PollerIdentity
import PollerQueue
import PollerRedis
import RedisClient
import Testing

/// Times by Redis' own clock, after it was set back by an hour: they are that far ahead.
@Suite("Data stored before Redis' clock was set back")
struct SteppedClockTests {
    private let hourMs = 3_600_000

    @Test("a sweep with a lease or due time too far ahead is taken; others wait")
    func sweep() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let store = RedisSweepStore(client: client, layout: layout)
            let (anna, bert) = (
                OwnerID(unchecked: "AAAAAAAAAAA"), OwnerID(unchecked: "BBBBBBBBBBB")
            )
            #expect(try await store.take(.main, owner: anna, for: .seconds(60)).isOwner)
            #expect(try await !store.take(.main, owner: bert, for: .seconds(60)).isOwner)
            let key = "t:sweep{\(AccountID.main)}"
            try await shift(client, key, "u")
            #expect(try await store.take(.main, owner: bert, for: .seconds(60)).isOwner)
            _ = try await store.finish(
                SweepProgress(cursor: .start, isCaughtUp: true, unseen: []),
                of: .main,
                owner: bert,
                pause: .seconds(30)
            )
            #expect(try await !store.take(.main, owner: anna, for: .seconds(60)).isOwner)
            try await shift(client, key, "d")
            #expect(try await store.take(.main, owner: anna, for: .seconds(60)).isOwner)
        }
    }

    @Test("a process with a heartbeat too far in the future is not listed")
    func member() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let members = RedisMembership(client: client, layout: layout)
            let owner = OwnerID(unchecked: "AAAAAAAAAAA")
            let member = Member(
                owner: owner,
                roles: "worker",
                pid: 1,
                host: "h",
                version: "1",
                startedAt: Timestamp(ms: 0),
                inFlight: 0
            )
            #expect(try await members.beat(member, for: .seconds(6)).count == 1)
            let list = "\(layout.watchKeys.namespace)p{0}"
            let stored = try await client.send(
                RedisCommand("HGET", [.string(list), .string("\(owner)")])
            )
            let parts = try #require(stored.string).split(separator: " ", maxSplits: 1)
            let later = try #require(Int(parts[0])) + hourMs
            _ = try await client.send(
                RedisCommand(
                    "HSET",
                    [.string(list), .string("\(owner)"), .string("\(later) \(parts[1])")]
                )
            )
            #expect(try await members.members().isEmpty)
        }
    }

    private func shift(_ client: RedisClient, _ key: String, _ field: String) async throws {
        _ = try await client.send(
            RedisCommand("HINCRBY", [.string(key), .string(field), RedisArgument(hourMs)])
        )
    }
}
