import Logging
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// An open watch with the usual data: a recipient, a secret and two metadata names.
@Suite("Memory of an open watch")
struct OpenWatchTests {
    /// Enough watches for each list to leave its small encoding, as in a store of a hundred thousand.
    private static let count = 500
    private static let owner = OwnerID(unchecked: "AAAAAAAAAAA")

    private static func watch(_ number: Int) throws -> NewWatch {
        let digits = String(number + 100_000)
        return try NewWatch(
            key: WatchKey("src_1MqP3wLkdIwHu7ix\(digits)AB"),
            notify: [try NotifyURL("https://shop.example/payments/hook")],
            clientSecret: ClientSecret(unchecked: "src_client_secret_k2xVjjBCTe19\(digits)wRzAqT"),
            metadata: #"{"order":"A\#(digits)","customer":"c\#(digits)@example.com"}"#
        )
    }

    private static func claim(_ store: RedisWatchStore) async throws -> [Lease<Watch>] {
        try await store.claim(
            ClaimRequest(partition: 0, limit: count, owner: owner, lease: .seconds(600))
        ).leases
    }

    /// Returns the size of all stored data, as Redis reports it.
    private static func bytes(_ client: RedisClient) async throws -> Int {
        let keys = try await client.send(RedisCommand("KEYS", ["t:*"])).array ?? []
        let replies = try await client.pipeline(
            keys.compactMap(\.string).map {
                RedisCommand("MEMORY", ["USAGE", .string($0), "SAMPLES", "0"])
            }
        )
        return replies.reduce(0) { $0 + ($1.int ?? 0) }
    }

    /// The limits are those of the guide *Capacity*.
    @Test(
        "an open watch takes at most 440 bytes before and after a poll, 470 when encrypted",
        arguments: [nil, RedisHarness.masterKey]
    )
    func weight(_ master: String?) async throws {
        let most = master == nil ? 440 : 470
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 1)
            let redis = RedisPartitions(
                client: client,
                layout: layout,
                masterKeys: try master.map { try MasterKeys($0) } ?? .none,
                logger: Logger(label: "weight")
            )
            let store = RedisWatchStore(redis, search: try SearchKeys([]))
            let none = try await Self.bytes(client)
            _ = try await store.enqueue((0..<Self.count).map(Self.watch))
            let waiting = try await (Self.bytes(client) - none) / Self.count
            let leases = try await Self.claim(store)
            let first = try #require(leases.first)
            #expect(leases.count == Self.count && first.item.clientSecret?.reveal != nil)
            let results = try await store.commit(
                leases.map { lease in
                    var state = lease.item.state
                    state.attempts = 12
                    state.step = 3
                    state.status = SourceStatus(unchecked: "pending")
                    state.lastPolledAt = lease.claimedAt
                    return Commit(
                        ref: lease.ref,
                        verdict: .next(after: .seconds(3600)),
                        change: WatchChange(state: state, event: nil)
                    )
                }
            )
            #expect(results.allSatisfy { $0 == .done })
            let looked = try await (Self.bytes(client) - none) / Self.count
            print("bytes of an open watch: waiting \(waiting), polled \(looked), of \(most)")
            #expect(waiting <= most && looked <= most, "\(waiting), \(looked)")
        }
    }
}
