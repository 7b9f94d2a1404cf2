import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

@Suite("Unreadable watches")
struct UnreadableWatchTests {
    @Test("a request that joins it is refused alone, with and without reading")
    func joined() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 1)
            let store = harness.store
            let keys = (1...3).map { WatchKey("src_\($0)") }
            _ = try await store.enqueue([try NewWatch(key: keys[1])])
            // A policy of a later release.
            let item = store.redis.keys.item(keys[1].id.description, 0)
            _ = try await client.send(
                RedisCommand("HSET", [.string(item), .string(WatchOption.policy.rawValue), "calm"])
            )
            let order = OrderID(unchecked: "A77")
            let ordered = try keys.map { try NewWatch(key: $0, order: order) }
            let results = try await store.enqueue(ordered)
            #expect(results.map(\.outcome) == [.created, .refused(.unreadable), .created])
            let plain = try keys.map { try NewWatch(key: $0) }
            let read = try await store.enqueue(plain, reading: true)
            #expect(read.map(\.outcome) == [.joined, .refused(.unreadable), .joined])
            #expect(read.map { $0.snapshot == nil } == [false, true, false])
            let single = try await store.enqueue([try NewWatch(key: keys[1])], reading: true)
            #expect(single.map(\.outcome) == [.refused(.unreadable)])
        }
    }

    @Test("a damaged deadline fails the call before its first write")
    func damagedDeadline() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 1)
            let store = harness.store
            let keys = (1...3).map { WatchKey("src_\($0)") }
            _ = try await store.enqueue([try NewWatch(key: keys[1])])
            let item = store.redis.keys.item(keys[1].id.description, 0)
            let deadline = String(ItemField.deadline.rawValue)
            _ = try await client.send(
                RedisCommand("HSET", [.string(item), .string(deadline), "soon"])
            )
            let watches = try keys.map { try NewWatch(key: $0) }
            await #expect(throws: StoreError.self) { try await store.enqueue(watches) }
            for key in [keys[0], keys[2]] {
                let results = try await store.enqueue([try NewWatch(key: key)])
                #expect(results.map(\.outcome) == [.created])
            }
        }
    }
}
