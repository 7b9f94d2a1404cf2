import PollerIdentity
import PollerQueue
import PollerRedis
import PollerTesting
import RedisClient
import Testing

@Suite("Processes announced in Redis", .serialized)
struct RedisMembershipTests {
    private let worker: Member = {
        var worker = Member(
            owner: OwnerID(unchecked: "AAAAAAAAAAA"),
            roles: "api,worker",
            pid: 1,
            host: "h",
            version: "1",
            startedAt: Timestamp(ms: 5),
            inFlight: 7,
            slots: 64,
            storeFormat: 2,
            partitions: 4
        )
        worker.capabilities = "1a2b"
        return worker
    }()

    @Test("a stored heartbeat has eleven fields, and additional fields are ignored")
    func parts() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let members = RedisMembership(client: client, layout: layout)
            #expect(try await members.beat(worker, for: .seconds(30)) == [worker])
            let list = "\(layout.watchKeys.namespace)p{0}"
            let stored = try await client.send(
                RedisCommand("HGET", [.string(list), .string("\(worker.owner)")])
            )
            let text = try #require(stored.string)
            #expect(text.hasSuffix(" api,worker|1|h|1|5|7|AAAAAAAAAAA|2|4|64|1a2b"))
            _ = try await client.send(
                RedisCommand(
                    "HSET",
                    [.string(list), .string("\(worker.owner)"), .string(text + "|more")]
                )
            )
            #expect(try await members.members() == [worker])
        }
    }

    @Test("announcing a process lists it and reads no other processes")
    func announced() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let members = RedisMembership(client: client, layout: layout)
            try await members.announce(worker, for: .seconds(30))
            #expect(try await members.members() == [worker])
            let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
            #expect(stats.contains("cmdstat_hgetall:calls=1,"))
        }
    }
}
