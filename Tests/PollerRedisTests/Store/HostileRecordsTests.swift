import Foundation
import JSONText
import Poller
import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerPayments
@testable import PollerRedis

@Suite("Hostile numbers in Redis", .serialized)
struct HostileRecordsTests {
    /// The longest time for all operations with one value changed.
    private static let patience = Duration.seconds(60)

    @Test(
        "a hostile number in any key, field, score or entry causes no crash, hang or lasting damage"
    )
    func everyRecord() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["POLLER_FUZZ_SECONDS"].flatMap { Int($0) } ?? 25
        let seed =
            environment["POLLER_FUZZ_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: .min ... .max)
        // The last line names the change that was in use when the process ended.
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent(
                "poller-hostile-records-\(ProcessInfo.processInfo.processIdentifier).txt"
            )
        print("hostile records: POLLER_FUZZ_SEED=\(seed), the change in use is in \(log.path)")
        defer { try? FileManager.default.removeItem(at: log) }
        var generator = SeededGenerator(seed: seed)
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        try await withRedis { client in
            var tried = 0
            var kinds: Set<String> = []
            rounds: while true {
                for behaviour in QueueConformance.allCases.shuffled(using: &generator) {
                    if tried > 0, clock.now > end { break rounds }
                    let harness = try await RedisHarness(client: client, partitions: 1)
                    // Only its records are needed, not its result.
                    _ = await behaviour.failure(on: harness)
                    if generator.next() % 4 == 0 { try await populateRest(harness) }
                    tried += try await attack(harness, behaviour.name, log, &generator, &kinds)
                    try await HostileStore(client: client, namespace: harness.layout.namespace)
                        .clear()
                }
                #expect(tried > 0)
                if environment["POLLER_FUZZ_SECONDS"] == nil || tried == 0 { break }
            }
            print("hostile records: \(tried) changes in \(kinds.count) kinds of keys")
        }
    }

    /// Changes some values of a store, one after the other; returns their number.
    private func attack(
        _ harness: RedisHarness,
        _ name: String,
        _ log: URL,
        _ generator: inout SeededGenerator,
        _ kinds: inout Set<String>
    ) async throws -> Int {
        let store = HostileStore(client: harness.client, namespace: harness.layout.namespace)
        let exercise = try await StoreExercise(harness)
        let picture = try await store.picture()
        let before = await exercise.read()
        try await store.restore(picture)
        let places = try await store.places()
        guard !places.isEmpty else { return 0 }
        var tried = 0
        for (place, value) in places.shuffled(using: &generator).prefix(6) {
            let changes = HostileStore.changes(of: place, value, using: &generator)
            guard let change = changes.randomElement(using: &generator) else { continue }
            try Data("\(name): \(change)\n".utf8).write(to: log)
            guard try await store.apply(change) else { continue }
            let took = await ContinuousClock().measure {
                _ = await exercise.read()
                await exercise.write()
            }
            #expect(took < Self.patience, "\(name): \(change) takes too long")
            try await store.restore(picture)
            tried += 1
            if generator.next() % 8 == 0 {
                let after = await exercise.read()
                #expect(Set(after.keys) == Set(before.keys), "\(name): after \(change) was undone")
                try await store.restore(picture)
            }
            kinds.insert(String(place.description.split(separator: "{").first ?? ""))
        }
        return tried
    }

    /// Writes the records that no case of the conformance suite leaves.
    private func populateRest(_ harness: RedisHarness) async throws {
        let (client, layout) = (harness.client, harness.layout)
        let owner = OwnerID(unchecked: "DDDDDDDDDDD")
        let sweeps = RedisSweepStore(client: client, layout: layout)
        _ = try await sweeps.take(.main, owner: owner, for: .seconds(5))
        let progress = SweepProgress(
            cursor: .since(Timestamp(ms: 1_700_000_000_000)),
            isCaughtUp: true,
            unseen: ["evt_1"]
        )
        _ = try await sweeps.finish(progress, of: .main, owner: owner, pause: .seconds(1))
        try await sweeps.mark([("evt_1", .seconds(60))], of: .main)
        _ = try await sweeps.addReads(ReadUsage(reads: 5, transactions: 2), of: .main)
        let secrets = RedisSecrets(
            client: client,
            layout: layout,
            masterKeys: try MasterKeys(RedisHarness.masterKey)
        )
        try await secrets.prepare()
        _ = try await secrets.rotate(now: Timestamp(ms: 1_700_000_000_000), overlap: .seconds(60))
        let suppressions = RedisSuppressionList(client: client, layout: layout)
        let recipient = try MailAddress("a@example.com")
        try await suppressions.suppress(
            SuppressionEntry(recipient, of: .main),
            because: .unsubscribed,
            noting: SuppressionNote(at: Timestamp(ms: 0))
        )
        let now = Timestamp(ms: 1_700_000_000_000)
        _ = try await suppressions.noteRefusal(SuppressionEntry(recipient, of: .main), at: now)
        try await RedisRelayFailures(client: client, layout: layout).noteRefusal("550 no", at: now)
        try await RedisUnreadableAmounts(client: client, layout: layout)
            .note(UnreadableAmount(.main, "10,99", last: now))
    }

    private static let counted: [ItemField] = [
        .began, .deadline, .run, .seq, .token, .hinted, .crashes, .reopenedSeq, .forgottenSeq,
    ]

    @Test(
        "a hostile number in one record leaves the other records of its partition usable",
        arguments: [
            "x", "nan", "inf", "-inf", "1e308", "9223372036854775807", "-9223372036854775808",
            "9007199254740992",
        ]
    )
    func oneRecordAlone(_ text: String) async throws {
        try await withRedis { client in
            for field in Self.counted { try await damage(field, text, client) }
        }
    }

    @Test(
        "a hint or an operator reopens a closed watch in spite of a damaged number",
        arguments: [ItemField.began, .deadline, .run],
        ["", "x", "-inf"].flatMap { [($0, ClosedReason.expired), ($0, .dead)] }
    )
    func reopened(_ field: ItemField, _ closed: (text: String, ClosedReason)) async throws {
        let (text, reason) = closed
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 1)
            let store = harness.store
            let key = WatchKey("src_1", of: .main)
            let request = ClaimRequest(partition: 0, limit: 10)
            _ = try await store.enqueue([try NewWatch(key: key)])
            let lease = try #require(try await store.claim(request).leases.first)
            let change = WatchChange(state: lease.item.state, event: nil)
            let close = Commit(ref: lease.ref, verdict: .close(reason), change: change)
            #expect(try await store.commit([close]) == [.done])
            let item = store.redis.keys.item("\(key.id)", 0)
            let set = RedisCommand("HSET", [item, "\(field.rawValue)", text].map { .string($0) })
            _ = try await client.send(set)
            #expect(try await reason == .dead ? store.redrive(key) : store.hint(key))
            #expect(try await store.claim(request).leases.map(\.item.key) == [key])
        }
    }

    @Test("a check reports lost events and misplaced items as faults that no repair corrects")
    func lastingFaults() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 2)
            let store = harness.store
            let key = WatchKey("src_1", of: .main)
            let partition = store.partition(of: key.lane)
            _ = try await store.enqueue([try NewWatch(key: key)])
            let claim = ClaimRequest(partition: partition, limit: 10)
            let lease = try #require(try await store.claim(claim).leases.first)
            let event = Event(lease.item, status: .chargeable, polledAt: lease.claimedAt)
            let change = WatchChange(state: lease.item.state, event: event)
            let commit = Commit(ref: lease.ref, verdict: .next(after: .seconds(60)), change: change)
            #expect(try await store.commit([commit]) == [.done])
            let keys = store.redis.keys
            let misplaced = keys.item(key.id.description, 1 - partition)
            let copied = [keys.item("\(key.id)", partition), misplaced]
            for command in [
                RedisCommand("DEL", [.string(keys.list(.log, "\(key.id)", partition))]),
                RedisCommand("COPY", copied.map { .string($0) }),
            ] { _ = try await client.send(command) }
            for repairing in [true, false] {
                var (faults, lasting): ([String], [String]) = ([], [])
                var cursor: String?
                repeat {
                    let page = try await store.audit(after: cursor, repairing: repairing)
                    faults += page.faults
                    lasting += page.lasting
                    cursor = page.next
                } while cursor != nil
                #expect(lasting.contains { $0.contains("has recorded 1 events and keeps 0") })
                #expect(lasting.contains { $0.contains("which is in \(partition)") })
                #expect(Set(lasting).isSubset(of: faults))
            }
        }
    }

    @Test(
        "a watch with a lost or damaged lease is polled again",
        arguments: [nil, "", "x 1"] as [String?]
    )
    func lostLease(_ damage: String?) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 1)
            let store = harness.store
            let key = WatchKey("src_1", of: .main)
            let request = ClaimRequest(partition: 0, limit: 10)
            _ = try await store.enqueue([try NewWatch(key: key)])
            let lost = try #require(try await store.claim(request).leases.first)
            let leases = store.redis.keys.list(.leases, "", 0)
            let place: [RedisArgument] = [.string(leases), .string("\(key.id)")]
            if let damage {
                _ = try await client.send(RedisCommand("HSET", place + [.string(damage)]))
            } else {
                _ = try await client.send(RedisCommand("HDEL", place))
            }
            try await harness.advance(by: .seconds(60))
            let lease = try #require(try await store.claim(request).leases.first)
            #expect(lease.item.key == key && lease.crashes == 1)
            #expect(lease.ref.token > lost.ref.token + 1)
            let late = Commit(
                ref: lost.ref,
                verdict: .close(.expired),
                change: WatchChange(state: WatchState())
            )
            #expect(try await store.commit([late]) == [.leaseLost])
            let close = Commit(ref: lease.ref, verdict: .close(.expired), change: late.change)
            #expect(try await store.commit([close]) == [.done])
            #expect(try await harness.audit() == [])
        }
    }

    @Test("a watch with a damaged key does not stop the results of others")
    func damagedKey() async throws {
        try await withRedis { client in
            for kind in [KeyKind.log, .long] {
                let what = Comment(rawValue: "the damaged key is \(kind)")
                let harness = try await RedisHarness(client: client, partitions: 1)
                let store = harness.store
                let keys = ["src_1", "src_2", "src_3"].map { WatchKey($0, of: .main) }
                let others: Set<WatchKey> = [keys[0], keys[2]]
                let request = ClaimRequest(partition: 0, limit: 10)
                _ = try await store.enqueue(keys.map { try NewWatch(key: $0) })
                let damaged = RedisArgument.string(
                    store.redis.keys.list(kind, "\(keys[1].id)", 0)
                )
                _ = try await client.send(RedisCommand("SET", [damaged, "x"]))
                let leases = try await store.claim(request).leases
                let expected = leases.map { lease in
                    others.contains(lease.item.key) ? CommitResult.done : .leaseLost
                }
                #expect(try await store.commit(leases.map(reported)) == expected, what)
                let entries = try await harness.outbox.entries(
                    partition: 0,
                    after: "0",
                    limit: 10
                )
                #expect(Set(entries.map(\.event.key)) == others, what)
                #expect(entries.count == 2, what)
                // The others are due again, and the damaged one keeps its lease until that ends.
                let next = try await store.claim(request).leases
                #expect(Set(next.map(\.item.key)) == others, what)
                #expect(next.allSatisfy { $0.item.seq == 1 }, what)
                _ = try await client.send(RedisCommand("DEL", [damaged]))
                try await harness.advance(by: .seconds(60))
                let all = try await store.claim(request).leases
                #expect(Set(all.map(\.item.key)) == Set(keys), what)
                let again = all.filter { $0.item.key == keys[1] }
                #expect(try await store.commit(again.map(reported)) == [.done], what)
                #expect(try await harness.audit() == [], what)
            }
        }
    }

    @Test("a watch whose long values are damaged loses only the text of its error")
    func damagedError() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 1)
            let store = harness.store
            let key = WatchKey("src_1", of: .main)
            let request = ClaimRequest(partition: 0, limit: 10)
            _ = try await store.enqueue([try NewWatch(key: key)])
            let lease = try #require(try await store.claim(request).leases.first)
            let long = RedisArgument.string(store.redis.keys.list(.long, "\(key.id)", 0))
            _ = try await client.send(RedisCommand("SET", [long, "x"]))
            let change = WatchChange(state: lease.item.state, lastError: "503")
            let commit = Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
            #expect(try await store.commit([commit]) == [.done])
            #expect(try await store.claim(request).leases.map(\.item.key) == [key])
        }
    }

    /// Returns the commit of a poll that has seen a change and is due again at once.
    private func reported(_ lease: Lease<Watch>) -> Commit<WatchChange> {
        let event = Event(lease.item, status: .chargeable, polledAt: lease.claimedAt)
        let change = WatchChange(state: lease.item.state, event: event)
        return Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
    }

    /// Damages one of three watches.
    ///
    /// The other two are listed, claimed, recovered, published and closed.
    private func damage(_ field: ItemField, _ text: String, _ client: RedisClient) async throws {
        let harness = try await RedisHarness(client: client, partitions: 1)
        let store = harness.store
        let keys = ["src_1", "src_2", "src_3"].map {
            WatchKey(account: .main, source: SourceID(unchecked: $0), kind: .source)
        }
        let others: Set<WatchKey> = [keys[0], keys[2]]
        let (name, what) = ("\(field.rawValue)", Comment(rawValue: "\(field) is \(text)"))
        let request = ClaimRequest(partition: 0, limit: 10)
        _ = try await store.enqueue(keys.map { try NewWatch(key: $0) })
        let commits = try await store.claim(request).leases.map { lease in
            let event = Event(
                lease.item,
                status: .chargeable,
                object: RawJSON(unchecked: "{}"),
                polledAt: lease.claimedAt
            )
            let change = WatchChange(state: lease.item.state, event: event)
            return Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
        }
        #expect(try await store.commit(commits) == [.done, .done, .done])
        let item = store.redis.keys.item(keys[1].id.description, 0)
        _ = try await client.send(
            RedisCommand("HSET", [.string(item), .string(name), .string(text)])
        )
        let listed = try await store.list(ListQuery(limit: 10)).items.map(\.watch.key)
        #expect(others.isSubset(of: listed), what)
        let remaining = try await harness.outbox.entries(partition: 0, after: "0", limit: 10).map(
            \.event.key
        )
        #expect(others.isSubset(of: remaining), what)
        // Each second claim recovers the leases of the first, which have expired.
        for _ in 0..<3 {
            let leased = try await store.claim(request).leases.map(\.item.key)
            #expect(others.isSubset(of: leased), what)
            try await harness.advance(by: .seconds(11))
        }
        for key in others { #expect(try await store.cancel(key), what) }
        try await harness.advance(by: .seconds(90))
        for _ in 0..<3 {
            _ = try await store.removeBodies(partition: 0, retention: .seconds(1))
            _ = try await store.purge(
                partition: 0,
                retention: .seconds(60),
                refundableRetention: .zero
            )
        }
        for key in others { #expect(try await store.snapshot(of: key) == nil, what) }
    }
}
