import Poller
import PollerRedis
import PollerTesting
import RedisClient
import Testing

@Suite("Processes announced in Redis", .serialized)
struct RedisMembershipTests {
    private let owner = OwnerID(unchecked: "AAAAAAAAAAA")

    private func member(places: Int?, form: Int?) -> Member {
        Member(
            owner: owner,
            roles: "api,worker",
            pid: 1,
            host: "h",
            version: "1",
            startedAt: Timestamp(ms: 5),
            inFlight: 7,
            places: places,
            form: form
        )
    }

    @Test(
        "a worker's places and the form it writes are told in the seven parts that the release before reads"
    )
    func sevenParts() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.agreed(on: client, namespace: "t", partitions: 4)
            let members = RedisMembership(client: client, layout: layout)
            var worker = member(places: 64, form: 2)
            worker.serves = "1a2b"
            #expect(try await members.beat(worker, for: .seconds(6)) == [worker])
            let list = "\(layout.watchKeys.namespace)p{0}"
            let stored = try await client.send(
                RedisCommand("HGET", [.string(list), .string("\(owner)")])
            )
            let parts = try #require(stored.string).split(separator: " ", maxSplits: 1)
            #expect(parts[1] == "api,worker,places=64,form=2,serves=1a2b|1|h|1|5|7|AAAAAAAAAAA")

            let former = "\(parts[0]) api,worker|1|h|1|5|7|AAAAAAAAAAA"
            _ = try await client.send(
                RedisCommand("HSET", [.string(list), .string("\(owner)"), .string(former)])
            )
            #expect(try await members.members() == [member(places: nil, form: nil)])
        }
    }

    @Test("who only announces itself is told nothing, and listed like the others")
    func announced() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.agreed(on: client, namespace: "t", partitions: 4)
            let members = RedisMembership(client: client, layout: layout)
            try await members.announce(member(places: 64, form: 2), for: .seconds(6))
            #expect(try await members.members() == [member(places: 64, form: 2)])
            let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
            #expect(stats.contains("cmdstat_hgetall:calls=1,"))
        }
    }
}
