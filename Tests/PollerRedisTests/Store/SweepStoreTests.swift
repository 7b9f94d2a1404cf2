import PollerHints
import PollerIdentity
import PollerQueue
import PollerRedis
import RedisClient
import Testing

@Suite("The sweeps of accounts in Redis")
struct SweepStoreTests {
    @Test("thousands of events that no webhook has delivered are stored with the progress")
    func many() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let store = RedisSweepStore(client: client, layout: layout)
            let owner = OwnerID(unchecked: "AAAAAAAAAAA")
            let unseen = (0..<4500).map { "evt_\($0)" }
            #expect(try await store.take(.main, owner: owner, for: .seconds(60)).isOwner)
            let progress = SweepProgress(cursor: .start, isCaughtUp: true, unseen: unseen)
            let missed = try await store.finish(
                progress,
                of: .main,
                owner: owner,
                pause: .seconds(30)
            )
            #expect(missed == 0)
            let key = "t:unseen{\(AccountID.main)}"
            let count = try await client.send(RedisCommand("ZCARD", [.string(key)])).int
            #expect(count == 4500)
            for id in ["evt_0", "evt_999", "evt_1000", "evt_4499"] {
                let command = RedisCommand("ZSCORE", [.string(key), .string(id)])
                let score = try await client.send(command).string
                #expect(score != nil, "\(id)")
            }
        }
    }
}
