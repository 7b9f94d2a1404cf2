import Logging
import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient
import Testing

@testable import PollerDeliveries
@testable import PollerRedis
@testable import PollerTesting

/// Outboxes that are read in many pages.
@Suite struct OutboxPagesTests {
    @Test("reading skips events that left their log, and only the last page is short")
    func passed() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let behaviour = ConformanceCase("pages") { bench in
                let busy = bench.key("1")
                // The log keeps a hundred events, and the outbox refers to all.
                try await bench.record(busy, (0..<130).map { "s\($0)" })
                let home = bench.partition(of: busy)
                var position = "0"
                var seqs: [Int] = []
                while true {
                    let page = try await bench.outbox.entries(
                        partition: home,
                        after: position,
                        limit: 7
                    )
                    seqs += page.map(\.event.seq)
                    position = page.last?.id ?? position
                    if page.count < 7 { break }
                }
                try equal(seqs, Array(31...130), "events that are kept")
                let references = try await bench.outbox.references(
                    partition: home,
                    after: "0",
                    limit: 500
                )
                let events = try await bench.outbox.events(of: references)
                try equal(events.count { $0 == nil }, 30, "events that are gone")
            }
            let failure = await behaviour.failure(on: harness)
            #expect(failure == nil, "\(String(describing: failure))")
        }
    }

    @Test("a reader reads a backlog to its end although many events have left their log")
    func backlog() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let behaviour = ConformanceCase("backlog") { bench in
                // The log keeps a hundred events. So the first batch of 128 has none, the second has 127, and the rest
                // is a third one.
                let (busy, other) = (bench.key("1"), bench.key("2"))
                try await bench.record(busy, (0..<229).map { "s\($0)" })
                // Only one watch is due at a time.
                _ = try await bench.commit(bench.take(busy), .next(after: .seconds(3600)))
                try await bench.record(other, (0..<60).map { "s\($0)" })
            }
            let failure = await behaviour.failure(on: harness)
            #expect(failure == nil, "\(String(describing: failure))")
            // With this clock, the only further reads are those of arrivals.
            let reader = OutboxReader(
                outbox: RedisOutbox(harness.redis),
                deliveries: harness.queue,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                clock: ManualClock(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let reading = Task { await reader.run() }
            defer { reading.cancel() }
            try await eventually("all is acknowledged") {
                try await harness.store.stats().undelivered == 0
            }
        }
    }

    @Test("a read counts the events that have left their log")
    func counted() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let behaviour = ConformanceCase("counts") { bench in
                let busy = bench.key("1")
                try await bench.record(busy, (0..<103).map { "s\($0)" })
                let read = try await bench.outbox.read(
                    partition: bench.partition(of: busy),
                    consumer: ConformanceBench.anna,
                    idle: .seconds(5),
                    limit: 4
                )
                try equal(read.fresh.map(\.event.seq), [4], "events")
                try equal(read.freshCount, 4, "entries")
                try bench.expect(read.isFull(limit: 4) && !read.isFull(limit: 5), "whether full")
            }
            let failure = await behaviour.failure(on: harness)
            #expect(failure == nil, "\(String(describing: failure))")
        }
    }

    @Test("one reply has at most 128 events, and the replies together have all")
    func bounded() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let store = harness.store
            let watch = WatchKey("src_1")
            _ = try await store.enqueue([try NewWatch(key: watch)])
            _ = try await store.cancel(watch)
            let home = harness.partition(of: watch.lane)
            let found = try await harness.outbox.references(partition: home, after: "0", limit: 10)
            let reference = try #require(found.first)
            // The scripts are loaded by the first call.
            let event = try #require(try await harness.outbox.events(of: [reference]).first ?? nil)
            _ = try await client.send(RedisCommand("CONFIG", ["RESETSTAT"]))
            let many = Array(repeating: reference, count: 300)
            let events = try await harness.outbox.events(of: many)
            #expect(events.count == 300 && events.allSatisfy { $0 == event })
            let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
            let calls = stats.matches(of: #/cmdstat_(?:evalsha|eval|fcall)(?:_ro)?:calls=(\d+),/#)
                .compactMap { Int($0.output.1) }
            #expect(calls.reduce(0, +) == 3, "\(stats)")
        }
    }

    @Test("an entry behind 1,400 unacknowledged ones is taken over within a few calls")
    func behindMany() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let watch = WatchKey("src_1")
            _ = try await harness.store.enqueue([try NewWatch(key: watch)])
            _ = try await harness.store.cancel(watch)
            let home = harness.partition(of: watch.lane)
            let dead = OwnerID(unchecked: "DDDDDDDDDDD")
            // This creates the group, too.
            let first = try await harness.outbox.unacknowledged(
                partition: home,
                consumer: dead,
                idle: .seconds(5),
                limit: 10
            )
            try #require(first.count == 1)
            // The same event many times more, and no entry is ever acknowledged.
            let stream = RedisArgument.string(harness.layout.watchKeys.outbox(home))
            let found = try await client.send(
                RedisCommand("XRANGE", [stream, "-", "+", "COUNT", 1])
            )
            let fields = try #require(found.array?.first?.array?.last?.array)
                .compactMap(\.bytes).map { RedisArgument.bytes($0) }
            let ids = try await client.pipeline(
                (0..<1400).map { _ in RedisCommand("XADD", [stream, "*"] + fields) }
            )
            let last = try #require(ids.last?.string)
            let group = RedisArgument.string(OutboxGroup.notifier.rawValue)
            _ = try await client.send(
                RedisCommand(
                    "XREADGROUP",
                    [
                        "GROUP", group, .string(dead.description), "COUNT", 2000, "STREAMS",
                        stream, ">",
                    ]
                )
            )
            var taken: Set<String> = []
            for _ in 0..<12 where !taken.contains(last) {
                let entries = try await harness.outbox.unacknowledged(
                    partition: home,
                    consumer: OwnerID(unchecked: "AAAAAAAAAAA"),
                    idle: .zero,
                    limit: 128
                )
                #expect(entries.count <= 128)
                taken.formUnion(entries.map(\.id))
            }
            #expect(taken.contains(last) && taken.count == 1401)
            // The oldest entries are then returned again.
            let again = try await harness.outbox.unacknowledged(
                partition: home,
                consumer: OwnerID(unchecked: "AAAAAAAAAAA"),
                idle: .zero,
                limit: 128
            )
            #expect(again.count == 128)
        }
    }
}
