import Logging
import Poller
import PollerTesting
import RedisClient
import Testing

@testable import PollerRedis

@Suite("the index by creation", .timeLimit(.minutes(2)))
struct CreationIndexTests {
    private func key(_ number: Int, account: String = "acct_a") -> WatchKey {
        WatchKey(
            account: AccountID(unchecked: account),
            source: SourceID(unchecked: "src_\(number)"),
            kind: .source
        )
    }

    private func enqueue(_ harness: RedisHarness, _ numbers: Range<Int>) async throws {
        _ = try await harness.watches.enqueue(numbers.map { try NewWatch(key: key($0)) })
    }

    private func index(_ harness: RedisHarness) -> CreationIndex {
        CreationIndex(
            client: harness.client,
            layout: harness.layout,
            scripts: .virtual,
            logger: Logger(label: "index")
        )
    }

    /// The keys of a kind in the store, with the number of members and the encoding of each.
    private func leaves(
        _ harness: RedisHarness,
        _ kind: KeyKind
    ) async throws -> [(count: Int, encoding: String)] {
        let pattern = "\(harness.layout.watchKeys.namespace)\(kind.rawValue){*}?*"
        let reply = try await harness.client.send(RedisCommand("KEYS", [.string(pattern)]))
        var leaves: [(count: Int, encoding: String)] = []
        for name in (reply.array ?? []).compactMap(\.string) {
            let key = RedisArgument.string(name)
            let count = try await harness.client.send(RedisCommand("ZCARD", [key])).int
            let encoding = try await harness.client.send(
                RedisCommand("OBJECT", ["ENCODING", key])
            )
            leaves.append((count ?? 0, encoding.string ?? ""))
        }
        return leaves
    }

    private func listed(_ harness: RedisHarness, limit: Int = 50) async throws -> [SourceID] {
        var sources: [SourceID] = []
        var cursor: String?
        repeat {
            let page = try await harness.store.list(ListQuery(limit: limit, cursor: cursor))
            sources += page.items.map(\.watch.key.source)
            cursor = page.next
        } while cursor != nil
        return sources
    }

    @Test("entries are in leaves that Redis keeps compactly, full where watches come one by one")
    func leaves() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            for number in 0..<450 {
                try await enqueue(harness, number..<number + 1)
                try await harness.advance(by: .milliseconds(1))
            }
            // One account has one lane, which is in one partition.
            let ordered = try await leaves(harness, .openCreated)
            #expect(ordered.map(\.count).reduce(0, +) == 450)
            #expect(ordered.count == 5)
            // All in one millisecond: they come in no order.
            try await enqueue(harness, 1000..<1900)
            let all = try await leaves(harness, .openCreated)
            #expect(all.map(\.count).reduce(0, +) == 1350)
            #expect(all.allSatisfy { $0.count <= 100 && $0.encoding == "listpack" })
            #expect(all.count < 5 + 20)
            for number in 0..<450 { _ = try await harness.watches.cancel(key(number)) }
            #expect(try await leaves(harness, .openCreated).map(\.count).reduce(0, +) == 900)
            #expect(try await leaves(harness, .closedCreated).map(\.count).reduce(0, +) == 450)
        }
    }

    @Test(
        "of a store that an earlier release has filled all watches are listed, and once the index was filled the newest first"
    )
    func upgrade() async throws {
        let release = try #require(try ReleasedScripts.all().last)
        try await withRedis { client in
            let former = try await RedisHarness(
                client: client,
                scripts: .virtual.substituting { release[$0] },
                form: release.form
            )
            for number in 0..<60 {
                try await enqueue(former, number..<number + 1)
                try await former.advance(by: .milliseconds(3))
            }
            for number in stride(from: 0, to: 60, by: 3) {
                _ = try await former.watches.cancel(key(number))
            }
            let today = try RedisHarness(client: client, layout: former.layout)
            let newest = (0..<60).reversed().map { key($0).source }
            // No order is promised yet, but nothing is missing.
            #expect(try await Set(listed(today)) == Set(newest))
            #expect(try await index(today).completeAt() == nil)
            let filled = try await index(today).fill()
            #expect(filled == 60)
            #expect(try await index(today).fill() == 0)
            try await index(today).note(completeAt: Timestamp(ms: 1))
            #expect(try await listed(today, limit: 7) == newest)
            #expect(try await today.audit() == [])
            // While both work, the former one closes, opens and adds what the index does not hear of.
            try await former.advance(by: .milliseconds(3))
            try await enqueue(former, 60..<63)
            _ = try await former.watches.cancel(key(1))
            try await enqueue(former, 0..<1)
            try await index(today).note(completeAt: nil)
            #expect(try await Set(listed(today)).count == 63)
            _ = try await index(today).fill()
            try await index(today).note(completeAt: Timestamp(ms: 1))
            #expect(try await listed(today, limit: 7).suffix(59) == newest.dropLast(1)[...])
            #expect(try await Set(listed(today, limit: 7)).count == 63)
            #expect(try await today.audit() == [])
        }
    }

    @Test("words of watches that an earlier release deleted are removed, and no others")
    func words() async throws {
        let release = try #require(try ReleasedScripts.all().last)
        try await withRedis { client in
            let today = try await RedisHarness(client: client, form: release.form)
            let former = try RedisHarness(
                client: client,
                layout: today.layout,
                scripts: .virtual.substituting { release[$0] }
            )
            for number in 0..<6 {
                let order = OrderID(unchecked: "ORD-\(number)")
                let new = try NewWatch(key: key(number), order: order)
                _ = try await today.watches.enqueue([new])
            }
            for number in 0..<3 { _ = try await today.watches.cancel(key(number)) }
            try await today.advance(by: .seconds(86_400))
            for partition in 0..<RedisHarness.partitionCount {
                while try await former.watches.purge(
                    partition: partition,
                    retention: .seconds(3600)
                ) {}
            }
            #expect(try await leaves(today, .words).map(\.count).reduce(0, +) == 6)
            _ = try await index(today).fill()
            #expect(try await leaves(today, .words).map(\.count).reduce(0, +) == 3)
            #expect(try await index(today).fill() == 0)
        }
    }

    @Test("one process at a time fills the index")
    func turns() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let (anna, bert) = (OwnerID(unchecked: "anna"), OwnerID(unchecked: "bert"))
            let index = index(harness)
            #expect(try await index.take(as: anna, for: .seconds(60)))
            #expect(try await !index.take(as: bert, for: .seconds(60)))
            #expect(try await index.take(as: anna, for: .seconds(60)))
            #expect(try await index.fill(while: { false }) == nil)
            try await index.release(as: bert)
            #expect(try await !index.take(as: bert, for: .seconds(60)))
            try await index.release(as: anna)
            #expect(try await index.take(as: bert, for: .seconds(60)))
        }
    }

    @Test("a new store says that its index is complete, one of an earlier form does not")
    func beginning() async throws {
        try await withRedis { client in
            let new = try await RedisHarness(client: client)
            #expect(try await index(new).completeAt() == Timestamp(ms: 0))
            let former = try await RedisHarness(client: client, form: 2)
            #expect(try await index(former).completeAt() == nil)
        }
    }

    @Test(
        "a cursor whose entry is none of ours is refused",
        arguments: ["", "soon", "179500000012a"]
    )
    func cursors(_ entry: String) {
        let cursor = Base64URL.encode(Packed.join(["t", entry]).utf8)
        #expect(WatchPlace(cursor: cursor, of: PartitionMap(partitions: 16)) == nil)
        #expect(CreatedPlace(cursor: cursor) == nil)
    }
}
