import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerDeliveries
@testable import PollerRedis

/// Failures while a partition is split, and changes meanwhile.
@Suite("Failures and changes during a split", .timeLimit(.minutes(5)))
struct RepartitionFailureTests {
    @Test(
        "a split without memory for its copies fails and leaves the partition unchanged",
        arguments: [false, true]
    )
    func memory(_ hasEnded: Bool) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            if !hasEnded {
                // Then there is nothing to copy before the partition stops.
                _ = try await harness.store.purge(
                    partition: 0,
                    retention: .zero,
                    refundableRetention: .zero
                )
            }
            let before = try await harness.homes()
            try await harness.limitMemory(of: "1mb")
            await #expect(throws: StoreError.full) { try await harness.split([0]) }
            #expect(try await harness.work().stage(of: 0).stage == nil)
            #expect(try await harness.homes() == before)
            let lease = try #require(try await harness.claim(1).first)
            _ = try await harness.store.release([lease.ref])
            try await harness.limitMemory(of: "0")
            try await harness.split([0])
            let homes = try await harness.homes()
            #expect(homes.count > 1 && homes.values.reduce(0, +) == before.values.reduce(0, +))
            #expect(try await harness.audit() == [])
        }
    }

    @Test(
        "items changed after they were copied move in their latest state, deleted ones stay deleted"
    )
    func changes() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let store = harness.store
            let held = try await harness.claim(1)
            // Ended items have been copied by then.
            async let outcome = harness.repartition.split(.watches, 0)
            try await eventually("the split waits for leased items") {
                try await harness.work().stage(of: 0).stage == .closing
            }
            #expect(
                try await harness.homes().count > 1,
                "no item was copied while leases were held"
            )
            let again = stride(from: 0, to: 30, by: 3).map { RedisHarness.watchKey($0) }
            let results = try await store.enqueue(again.map { try NewWatch(key: $0) })
            #expect(results.allSatisfy { $0.outcome != .joined })
            while try await store.purge(partition: 0, retention: .zero, refundableRetention: .zero)
            {}
            let others = [1, 2, 4, 5].map { RedisHarness.watchKey($0) }
                .filter { $0 != held.first?.item.key }
            for key in others.prefix(3) { _ = try await store.cancel(key) }
            let before = try await harness.snapshots()
            let counts = try await store.stats()
            _ = try await store.release(held.map(\.ref))
            let moved = try #require(try await outcome)
            #expect(moved.items > 10)
            #expect(try await harness.snapshots() == before)
            let homes = try await harness.homes()
            #expect(homes.values.reduce(0, +) == before.count, "\(homes)")
            var after = try await store.stats()
            after.leased = counts.leased
            after.oldestDue = counts.oldestDue
            after.pending = counts.pending
            after.overdue = counts.overdue
            #expect(after == counts)
            #expect(try await harness.audit() == [])
            #expect(try await store.list(ListQuery(state: .closed)).items.count == 3)
        }
    }

    @Test("a crashed split can be completed, or undone until copied", arguments: Stop.allCases)
    func stopping(_ stop: Stop) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let before = try await harness.pictures(of: harness.store)
            try await harness.split(upTo: stop)
            let hasLeft = stop == .copied || stop == .forgetting
            let layout = harness.layout
            var status = try await RedisRepartition.status(layout, on: client)
            #expect(status.stoppedPartitions.count == (stop == .beginning ? 0 : 1))
            #expect(status.resumable == (stop == .beginning || hasLeft ? 0 : 1))
            #expect(status.split == 0 && status.former == 1 && !status.isRunning)
            let (freed, left) = try await harness.repartition.stop()
            #expect(freed == (stop == .beginning || hasLeft ? 0 : 1))
            #expect(left == (hasLeft ? 1 : 0))
            if !hasLeft {
                #expect(try await harness.homes() == [0: RedisHarness.filled])
                let lease = try #require(try await harness.claim(1).first)
                _ = try await harness.store.release([lease.ref])
            }
            try await harness.split([0])
            status = try await RedisRepartition.status(layout, on: client)
            #expect(status.split == 2 && status.stoppedPartitions.isEmpty)
            #expect(try await harness.pictures(of: harness.store) == before)
            #expect(try await harness.audit() == [])
        }
    }

    @Test("logs that are too large for one reply are copied in several")
    func largeLogs() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            let work = harness.work()
            let layout = work.partitions.keys
            let accounts = (0..<99).map { AccountID(unchecked: "acct_\($0)") }
            let moving = accounts.first {
                layout.map.finalPartition(of: WatchKey("src_0", of: $0).lane.description) != 0
            }
            let account = try #require(moving)
            let keys = (0..<5).map { WatchKey("src_\($0)", of: account) }
            _ = try await harness.store.enqueue(keys.map { try NewWatch(key: $0) })
            // Random, because Redis compresses what it dumps.
            var generator = SeededGenerator(seed: 1)
            for key in keys {
                var bytes: [UInt8] = []
                for _ in 0..<75_000 {
                    let next = generator.next()
                    bytes += (0..<8).map { UInt8(truncatingIfNeeded: next >> (8 * $0)) }
                }
                let log = RedisArgument.string(layout.list(.log, "\(key.id)", 0))
                _ = try await client.send(RedisCommand("RPUSH", [log, .bytes(bytes)]))
            }
            try await work.begin()
            let part = PartitionSplit.Part(
                isItems: true,
                names: keys.map(\.id.description),
                lanes: keys.map(\.lane.description)
            )
            let reply = try await work.partitions.array(
                .splitRead,
                partition: 0,
                ["items"] + part.names.map { .string($0) }
            )
            #expect((1..<keys.count).contains(reply.count))
            let sums = try await work.copy(part)
            #expect(try await work.sums(of: part) == sums)
            let home = layout.map.finalPartition(of: part.lanes.first ?? "")
            for name in part.names {
                let log = RedisArgument.string(layout.list(.log, name, home))
                #expect(try await client.send(RedisCommand("LLEN", [log])).int == 1)
            }
        }
    }

    @Test("a splitter that was replaced can neither copy items nor advance the split")
    func takenOver() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let early = harness.work()
            try await harness.split(upTo: .copying)
            let late = PartitionSplit(
                partitions: early.partitions,
                partition: 0,
                children: early.children,
                splitter: "BBBBBBBBBBB.1"
            )
            try await late.begin()
            try await late.enter(.closing, in: 0)
            try await late.enter(.frozen, in: 0)
            await #expect(throws: StoreError.self) {
                try await early.eachMoving([]) { part throws(StoreError) in
                    try await early.copy(part)
                }
            }
            await #expect(throws: StoreError.self) { try await early.clearChildren([]) }
            await #expect(throws: StoreError.self) { try await early.enter(.copied, in: 0) }
            #expect(try await late.enter(.copied, in: 0))
        }
    }

    @Test("no item is counted or listed twice at any stage of a split", arguments: Stop.allCases)
    func counts(_ stop: Stop) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let before = try await harness.store.stats()
            try await harness.split(upTo: stop)
            // While moved items leave the partition, callers wait.
            async let counts = harness.store.stats()
            async let closed = harness.store.list(ListQuery(state: .closed, limit: 500)).items
            async let open = harness.store.list(ListQuery(state: .open, limit: 500)).items
            async let lanes = harness.store.lanes(limit: 500, cursor: nil).items
            if stop == .copied || stop == .forgetting {
                try await harness.waitForRefusal()
                try await harness.split([0])
            }
            #expect(try await counts == before)
            let ended = RedisHarness.filled / 3
            #expect(try await closed.count == ended)
            #expect(try await open.count == RedisHarness.filled - ended)
            #expect(try await lanes.count == Set(lanes.map(\.lane)).count)
            #expect(try await lanes.reduce(0) { $0 + $1.waiting } == before.pending)
            try await harness.split([0])
            #expect(try await harness.store.stats() == before)
        }
    }

    @Test("a split that lost its frozen stage in a failover is not marked as copied")
    func lostStage() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let work = harness.work()
            for lost in [SplitStage.closing, nil] {
                try await work.begin()
                try await work.enter(.closing, in: 0)
                try await work.enter(.frozen, in: 0)
                let meta = RedisArgument.string(harness.layout.watchKeys.meta(0))
                let field = RedisArgument.string(MetaField.splitting.rawValue)
                let command =
                    lost.map { RedisCommand("HSET", [meta, field, .string($0.rawValue)]) }
                    ?? RedisCommand("HDEL", [meta, field])
                #expect(try await client.send(command).error == nil)
                #expect(try await work.enter(.copied, in: 0) == false)
                #expect(try await work.stage(of: 0).stage == lost)
            }
        }
    }

    @Test("a new partition without recorded events counts as fully acknowledged")
    func settled() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            // A consumer reads the outbox, so that there is a group to pass on.
            let consumer = OwnerID(unchecked: "CCCCCCCCCCC")
            let read = try await harness.outbox.unacknowledged(
                partition: 0,
                consumer: consumer,
                idle: .zero,
                limit: 500
            )
            #expect(!read.isEmpty)
            try await harness.outbox.acknowledge(partition: 0, read.map(\.id))
            try await harness.split([0])
            for part in 1..<harness.layout.partitions {
                let instant = try await harness.outbox.acknowledgedUntil(partition: part)
                #expect(instant.ms > 0, "part \(part)")
            }
        }
    }

    @Test("the mark watermark does not advance while its partition is being split")
    func whole() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            let queue = harness.queue
            let history = try await queue.watermark(partition: 1).history
            try await queue.note(partition: 1, markedBefore: Timestamp(ms: 5), in: history)
            #expect(try await queue.watermark(partition: 1).markedBefore == Timestamp(ms: 5))
            try await harness.work(.deliveries).begin()
            try await queue.note(partition: 1, markedBefore: Timestamp(ms: 9), in: history)
            #expect(try await queue.watermark(partition: 1).markedBefore == Timestamp(ms: 5))
        }
    }
}

extension RedisHarness {
    fileprivate func limitMemory(of most: String) async throws {
        let set = RedisCommand("CONFIG", ["SET", "maxmemory", .string(most)])
        let reply = try await client.send(set)
        #expect(reply.error == nil)
    }

    /// Returns all existing watches of ``fill()``.
    fileprivate func snapshots() async throws -> [WatchSnapshot] {
        var snapshots: [WatchSnapshot] = []
        for number in 0..<Self.filled {
            if let found = try await store.snapshot(of: Self.watchKey(number)) {
                snapshots.append(found)
            }
        }
        // One of them is leased before, and not after.
        return snapshots.map { snapshot in
            WatchSnapshot(
                watch: snapshot.watch,
                closed: snapshot.closed,
                nextPollAt: nil,
                lastError: snapshot.lastError,
                notify: snapshot.notify,
                metadata: snapshot.metadata,
                lastEvent: snapshot.lastEvent
            )
        }
    }
}
