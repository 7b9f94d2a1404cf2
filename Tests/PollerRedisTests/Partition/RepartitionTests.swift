import Foundation
import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// A store gets more partitions: every item is there once, even for processes that learn of it late.
@Suite("Splitting partitions", .timeLimit(.minutes(5)))
struct RepartitionTests {
    @Test(
        "a resumed split moves every item once, and processes with the old layout follow",
        arguments: Stop.allCases
    )
    func whole(_ stop: Stop) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            let (early, late) = (
                harness.store, try RedisHarness(client: client, layout: harness.layout).store
            )
            try await harness.fill()
            let before = try await harness.pictures(of: early)
            try await harness.split(upTo: stop)
            try await harness.split([0])
            #expect(try await harness.pictures(of: late) == before)
            #expect(try await harness.audit() == [])
            let homes = try await harness.homes()
            #expect(homes.count > 1, "all items are in one partition")
            #expect(homes.values.reduce(0, +) == RedisHarness.filled, "an item exists twice")
            // Enqueued by a process that still assumes one partition: joined, not created again.
            let again = try await early.enqueue([NewWatch(key: RedisHarness.watchKey(1))])
            #expect(again.map(\.outcome) == [.joined])
            #expect(try await early.cancel(RedisHarness.watchKey(2)))
            #expect(try await late.snapshot(of: RedisHarness.watchKey(2))?.closed == .cancelled)
            #expect(try await harness.audit() == [])
        }
    }

    @Test("a closing partition grants no claims but accepts commits; a frozen one rejects writes")
    func stages() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let work = harness.work()
            let held = try await harness.claim(2)
            #expect(held.count == 2)
            try await work.begin()
            try await work.enter(.closing, in: 0)
            #expect(try await harness.claim(2).isEmpty)
            #expect(try await !work.enter(.frozen, in: 0), "the partition holds leases")
            let commits = held.map { lease in
                Commit(
                    ref: lease.ref,
                    verdict: .next(after: .seconds(5)),
                    change: WatchChange(state: lease.item.state)
                )
            }
            #expect(try await harness.store.commit(commits) == [.done, .done])
            #expect(try await work.enter(.frozen, in: 0))
            // Reads are allowed.
            #expect(try await harness.store.snapshot(of: RedisHarness.watchKey(1)) != nil)
            let before = try await harness.homes()
            async let enqueued = harness.store.enqueue([NewWatch(key: RedisHarness.watchKey(999))])
            try await harness.waitForRefusal()
            #expect(try await harness.homes() == before, "something was written")
            try await harness.split([0])
            #expect(try await enqueued.map(\.outcome) == [.created])
            #expect(try await harness.store.snapshot(of: RedisHarness.watchKey(999)) != nil)
        }
    }

    @Test("delayed steps of a split fail after its end and change nothing")
    func late() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            let work = harness.work()
            try await harness.split(upTo: .copying)
            try await harness.split([0])
            let lane = RedisHarness.watchKey(1).lane
            let part = PartitionSplit.Part(
                isItems: true,
                names: [RedisHarness.watchKey(1).id.description],
                lanes: [lane.description]
            )
            await #expect(throws: StoreError.self) { try await work.forget(part) }
            for child in work.children {
                await #expect(throws: StoreError.self) { try await work.enter(.filling, in: child) }
            }
            let written = try await work.partitions.run(
                .splitWrite,
                partition: work.partitions.keys.map.finalPartition(of: lane.description),
                ["x", "y", "", "0", "0"]
            )
            #expect(written.int == -1)
            #expect(try await harness.audit() == [])
        }
    }

    @Test("a store is split a second time and stays usable meanwhile")
    func again() async throws {
        try await withRedis { client in
            let first = try await RedisHarness(client: client, former: 1, partitions: 2)
            try await first.fill()
            let before = try await first.pictures(of: first.store)
            try await first.split([0])
            try await first.repartition.end()
            let half = try await StoreLayout.loadOrCreate(
                on: client,
                namespace: first.layout.namespace
            )
            #expect(half.partitions == 2 && half.base == 1 && half.former == nil)
            let more = try await RedisRepartition.begin(half, partitions: 4, on: client)
            let second = try RedisHarness(client: client, layout: more)
            // The new partitions are empty, and reject no caller.
            for partition in 2..<4 { #expect(try await second.claim(1, in: partition).isEmpty) }
            #expect(try await second.pictures(of: second.store) == before)
            try await second.split([0, 1])
            // A process that knows only two partitions fails until it is restarted.
            await #expect(throws: StoreError.self) { try await first.pictures(of: first.store) }
            #expect(try await second.pictures(of: second.store) == before)
            #expect(try await second.homes().values.reduce(0, +) == RedisHarness.filled)
            #expect(try await second.audit() == [])
        }
    }

    @Test("repeating the command opens a partition that lost its open stage, even after the end")
    func lostOpening() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            try await harness.split([0])
            let meta = RedisArgument.string(harness.layout.watchKeys.meta(3))
            let lose = [
                RedisCommand("HSET", [meta, "splitting", "f"]),
                RedisCommand("HDEL", [meta, "split"]),
            ]
            _ = try await client.pipeline(lose)
            try await harness.split([0])
            #expect(try await client.send(RedisCommand("HGET", [meta, "split"])).string == "4")
            try await harness.repartition.end()
            _ = try await client.pipeline(lose)
            let layout = try await StoreLayout.loadOrCreate(
                on: client,
                namespace: harness.layout.namespace
            )
            let done = try RedisHarness(client: client, layout: layout)
            #expect(try await done.repartition.reopen() == 1)
            #expect(try await done.repartition.reopen() == 0)
            #expect(try await client.send(RedisCommand("HGET", [meta, "split"])).string == "4")
        }
    }

    @Test("a split without permission for RESTORE fails before the partition closes")
    func rights() async throws {
        let user = ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-restore"]
        try await withRedis(user) { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.fill()
            await #expect(throws: StoreError.self) { try await harness.split([0]) }
            #expect(try await harness.work().stage(of: 0).stage == nil)
            #expect(try await harness.claim(1).count == 1)
        }
    }

    @Test("an audit finds an item outside the partition of its lane")
    func misplaced() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await harness.fill()
            #expect(try await harness.audit() == [])
            let keys = harness.layout.watchKeys
            let (id, lane) = (
                RedisHarness.watchKey(0).id.description, RedisHarness.watchKey(0).lane.description
            )
            let home = keys.partition(of: lane)
            let copy = RedisCommand(
                "COPY",
                [.string(keys.item(id, home)), .string(keys.item(id, (home + 1) % 4))]
            )
            #expect(try await client.send(copy).int == 1)
            let faults = try await harness.audit()
            #expect(faults.contains { $0.contains("which is in \(home)") }, "\(faults)")
        }
    }

    @Test("the number of partitions grows only to a multiple, and one repartition runs at a time")
    func numbers() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            for wrong in [2, 6, 2048] {
                await #expect(throws: InvalidInput.self) {
                    try await RedisRepartition.begin(harness.layout, partitions: wrong, on: client)
                }
            }
            let begun = try await RedisRepartition.begin(harness.layout, partitions: 8, on: client)
            await #expect(throws: InvalidInput.self) {
                try await RedisRepartition.begin(begun, partitions: 16, on: client)
            }
            let agreed = try await StoreLayout.loadOrCreate(on: client, namespace: begun.namespace)
            #expect(agreed == begun && agreed.former == 4 && agreed.base == 4)
        }
    }

    @Test("every script checks its caller's partition map unless its data does not move")
    func asking() {
        // Data that does not move, and the split itself.
        let anywhere: Set<ScriptName> = [
            .outboxGroup, .outboxHold, .confirm, .outboxAcknowledged, .trim, .markWatermark,
            .heartbeat, .quarantined,
            .search, .laneNames, .deadLetters, .incidentList, .endpointCreate, .endpointWrite,
            .endpointChanges, .endpointRead, .endpointList, .endpointCount, .keyWrite, .keyList,
            .keyUsed, .auditTrailAdd, .activityAdd, .activityRead, .sweepTake, .sweepFinish,
            .addUsage,
            .setMarks, .suppress, .reencrypt, .layoutRestore, .splitStage, .splitClock, .splitList,
            .splitRead, .splitWrite, .splitForget,
        ]
        let texts = ScriptTexts(clock: nil)
        for name in ScriptName.allCases where !anywhere.contains(name) {
            let source = texts.source(of: name)
            let body = source[
                (source.range(of: "\nenter(KEYS")?.lowerBound ?? source.startIndex)...
            ]
            #expect(
                ["read_and_check_layout()", " clocks()", "clocks_and_gap()"].contains {
                    body.contains($0)
                },
                "\(name)"
            )
        }
    }
}
