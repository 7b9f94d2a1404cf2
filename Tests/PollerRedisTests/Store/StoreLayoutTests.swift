import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

@Suite("Loss of a store's layout under running processes", .timeLimit(.minutes(5)))
struct StoreLayoutTests {
    /// The layout of a process that was started while 16 became 64, after the end of the repartition.
    private let known = StoreLayout(namespace: "t", partitions: 64, base: 16)

    @Test("reading the state of a missing layout writes nothing")
    func asking() async throws {
        try await withRedis { client in
            let status = try await RedisRepartition.status(known, on: client)
            #expect(status.layout == .missing && status.partitions == 64)
            #expect(try await known.status(on: client) == .missing)
            #expect(try await StoreLayout.stored(on: client, namespace: "t") == nil)
            #expect(try await client.send(RedisCommand("DBSIZE", [])).int == 0)
        }
    }

    @Test("an empty store takes the layout of a running process, and later processes agree")
    func restoring() async throws {
        try await withRedis { client in
            let layouts = [
                known,
                StoreLayout(namespace: "u", partitions: 64, base: 8, former: 16, form: 2),
                StoreLayout(namespace: "v", partitions: 16),
            ]
            for layout in layouts {
                #expect(try await layout.restore(on: client))
                let agreed = try await StoreLayout.loadOrCreate(
                    on: client,
                    namespace: layout.namespace
                )
                #expect(agreed == layout)
                #expect(try await layout.status(on: client) == .fits)
            }
        }
    }

    @Test("a restored store with added partitions is usable after they are reopened")
    func opened() async throws {
        try await withRedis { client in
            #expect(try await known.restore(on: client))
            let logger = Logger(label: "t")
            let work = RedisRepartition(
                client: client,
                layout: known,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                logger: logger
            )
            #expect(try await work.reopen() == 2 * known.partitions)
            let store = RedisWatchStore(
                RedisPartitions(client: client, layout: known, logger: logger)
            )
            let keys = (0..<40).map { number in
                WatchKey("src_1", of: AccountID(unchecked: "acct_\(number)"))
            }
            let made = try await store.enqueue(keys.map { try NewWatch(key: $0) })
            #expect(made.allSatisfy { $0.outcome == .created })
            #expect(try await store.audit() == [])
        }
    }

    @Test("restoring over an existing layout changes nothing and reports the other layout")
    func second() async throws {
        try await withRedis { client in
            let made = try await StoreLayout.loadOrCreate(on: client, namespace: "t")
            #expect(try await !known.restore(on: client))
            #expect(try await StoreLayout.stored(on: client, namespace: "t") == made)
            #expect(try await known.status(on: client) == .other(made))
            let status = try await RedisRepartition.status(known, on: client)
            #expect(status.layout == .other(made) && status.partitions == 16)
        }
    }

    @Test("a store that has a form but no layout yet takes the restored layout")
    func halfMade() async throws {
        try await withRedis { client in
            try await StoreVersion.begin("t:layout", on: client)
            #expect(try await StoreLayout.stored(on: client, namespace: "t") == nil)
            #expect(try await known.restore(on: client))
            #expect(try await StoreLayout.loadOrCreate(on: client, namespace: "t") == known)
        }
    }

    @Test("a stored layout fits if it is equal or one step ahead, not if it is older or recreated")
    func fitting() {
        let before = StoreLayout(namespace: "t", partitions: 16, form: 2)
        let during = StoreLayout(namespace: "t", partitions: 64, base: 16, former: 16, form: 2)
        let after = StoreLayout(namespace: "t", partitions: 64, base: 16, form: 2)
        let migrated = StoreLayout(namespace: "t", partitions: 64, base: 16, form: 3)
        // The layout of a process, and the stored one.
        for (known, stored) in [
            (before, before), (before, during), (during, during), (during, after), (after, after),
            (after, migrated),
        ] {
            #expect(StoreLayout.Status(of: stored, to: known) == .fits, "\(known) \(stored)")
        }
        let remade = StoreLayout(namespace: "t", partitions: 64, form: 2)
        for (known, stored) in [
            (after, before), (after, during), (during, before), (migrated, after), (before, after),
            (after, remade),
        ] {
            let status = StoreLayout.Status(of: stored, to: known)
            #expect(status == .other(stored), "\(known) \(stored)")
        }
    }
}
