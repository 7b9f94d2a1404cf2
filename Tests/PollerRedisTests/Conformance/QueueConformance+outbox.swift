import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let outbox: [ConformanceCase] = [
        Case("the outbox has events in the order in which they were recorded") { bench in
            let keys = ["1", "2", "3"].map { bench.key($0) }
            let home = bench.partition(of: keys[0])
            for key in keys { try await bench.enqueue(key) }
            var wanted: [EventID] = []
            for round in 0..<3 {
                for lease in try await bench.claim(in: home).leases {
                    let commit = bench.poll(lease, .next(after: .zero), status: "s\(round)")
                    wanted += [commit.change.event?.id].compactMap(\.self)
                    _ = try await bench.watches.commit([commit])
                }
                try await bench.advance(ms: round)
            }
            let entries = try await bench.outbox.entries(partition: home, after: "0", limit: 99)
            try equal(entries.map(\.event.id), wanted, "events")
            try equal(Set(entries.map(\.id)).count, 9, "different ids")
            try bench.expect(entries.allSatisfy { $0.partition == home }, "wrong partition")
        },
        Case("the outbox has the events of a batch in the order of the batch") { bench in
            let keys = (0..<5).map { bench.key("\($0)") }
            for key in keys { try await bench.enqueue(key) }
            let home = bench.partition(of: keys[0])
            let commits = try await bench.claim(in: home).leases.map {
                bench.poll($0, .next(after: .zero), status: "pending")
            }
            _ = try await bench.watches.commit(commits)
            let entries = try await bench.outbox.entries(partition: home, after: "0", limit: 99)
            try equal(entries.map(\.event.id), commits.compactMap(\.change.event?.id), "events")
        },
        Case("reading continues after a position, without gap or repeat") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, (0..<7).map { "s\($0)" })
            var position = "0"
            var seqs: [Int] = []
            for _ in 0..<4 {
                let page = try await bench.outbox.entries(
                    partition: home,
                    after: position,
                    limit: 3
                )
                seqs += page.map(\.event.seq)
                position = page.last?.id ?? position
            }
            try equal(seqs, Array(1...7), "seq")
        },
        Case("each entry is given to one consumer") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b", "c", "d"])
            let first = try await bench.unacknowledged(home, ConformanceBench.anna, limit: 3)
            let second = try await bench.unacknowledged(home, ConformanceBench.bert)
            try equal(first.map(\.event.seq), [1, 2, 3], "entries of the first consumer")
            try equal(second.map(\.event.seq), [4], "entries of the second consumer")
            let third = try await bench.unacknowledged(home, ConformanceBench.bert)
            try equal(third.map(\.event.seq), [], "entries left")
        },
        Case("the first consumer reads events recorded before it started") { bench in
            let key = bench.key("1")
            try await bench.record(key, ["a", "b"], notify: ["https://a.example/"])
            let entries = try await bench.unacknowledged(
                bench.partition(of: key),
                ConformanceBench.anna
            )
            try equal(entries.map(\.event.seq), [1, 2], "seq")
            try equal(entries.first?.notify.count, 1, "the endpoints")
        },
        Case("an entry is returned once even if it counts as abandoned at once") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna, idle: .zero)
            try equal(entries.map(\.event.seq), [1, 2], "seq")
            let twice = (entries + entries).map(\.id)
            let positions = try await bench.outbox.positions(partition: home, of: twice)
            try equal(positions, [:], "positions of IDs named twice")
        },
        Case("entries that a consumer holds for too long go to another") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let dead = try await bench.unacknowledged(home, ConformanceBench.anna)
            try equal(dead.count, 2, "entries of the first consumer")
            let early = try await bench.unacknowledged(home, ConformanceBench.bert)
            try equal(early.count, 0, "entries while the first consumer holds them")
            // A store may measure idleness by a clock that no test can move.
            var late: [OutboxEntry] = []
            try await bench.advance(ms: 50)
            try await eventually("abandoned entries go to another consumer") {
                late += try await bench.unacknowledged(
                    home,
                    ConformanceBench.bert,
                    idle: .milliseconds(40)
                )
                return late.count >= 2
            }
            try equal(Set(late.map(\.event.seq)), [1, 2], "seq")
        },
        Case("all of many abandoned entries go to another consumer") { bench in
            for name in ["1", "2"] {
                let key = bench.key(name)
                try await bench.record(key, (1...70).map { "s\($0)" })
                // Only one watch is due at a time.
                _ = try await bench.commit(bench.take(key), .next(after: .seconds(3600)))
            }
            let home = bench.partition(of: bench.key("1"))
            let dead = try await bench.unacknowledged(home, ConformanceBench.anna, limit: 512)
            try bench.expect(dead.count > OutboxRead.abandonedMax, "\(dead.count) entries")
            try await bench.advance(ms: 50)
            var late: Set<String> = []
            try await eventually("all abandoned entries go to another consumer") {
                late.formUnion(
                    try await bench.unacknowledged(
                        home,
                        ConformanceBench.bert,
                        idle: .milliseconds(40),
                        limit: 512
                    ).map(\.id)
                )
                return late.count >= dead.count
            }
            try equal(late, Set(dead.map(\.id)), "the entries")
        },
        Case("entries that a consumer still holds go to no other consumer") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            try await bench.advance(ms: 60_000)
            let lost = try await bench.hold(entries, ConformanceBench.anna)
            try equal(lost, [], "lost entries")
            let other = try await bench.unacknowledged(
                home,
                ConformanceBench.bert,
                idle: .seconds(30)
            )
            try equal(other.count, 0, "entries of the other consumer")
            try await bench.outbox.acknowledge(partition: home, entries.map(\.id))
            let gone = try await bench.hold(entries, ConformanceBench.anna)
            try equal(gone, Set(entries.map(\.id)), "acknowledged entries")
            try equal(try await bench.watches.stats().undelivered, 0, "undelivered")
        },
        Case("entries before the oldest unacknowledged one are acknowledged") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            let empty = try await bench.outbox.acknowledgedUntil(partition: home)
            try await bench.record(key, ["a", "b"])
            let first = try bench.some(
                try await bench.outbox.entries(partition: home, after: "0", limit: 1).first,
                "an entry"
            )
            let oldest = try bench.some(Int64(first.id.prefix { $0 != "-" }), "its ms")
            for stage in ["unread", "handed out"] {
                let acknowledged = try await bench.outbox.acknowledgedUntil(partition: home)
                try bench.expect(acknowledged.ms <= oldest, "\(stage): \(acknowledged.ms)")
                _ = try await bench.unacknowledged(home, ConformanceBench.anna)
            }
            let all = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try await bench.outbox.acknowledge(partition: home, [all[0].id])
            let half = try await bench.outbox.acknowledgedUntil(partition: home)
            let newest = try bench.some(Int64(all[1].id.prefix { $0 != "-" }), "its ms")
            try bench.expect(half.ms <= newest, "half: \(half.ms) > \(newest)")
            try await bench.outbox.acknowledge(partition: home, [all[1].id])
            // The ids of a store's entries may use a clock that no test can move.
            try await bench.advance(ms: 3_600_000)
            let done = try await bench.outbox.acknowledgedUntil(partition: home)
            try bench.expect(done.ms > newest && done > empty, "done: \(done.ms)")
        },
        Case("acknowledged entries are not given out again, but stay in the outbox") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b", "c"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            let done = [entries[0].id, entries[2].id]
            for _ in 0..<2 { try await bench.outbox.acknowledge(partition: home, done) }
            try equal(try await bench.watches.stats().undelivered, 1, "undelivered")
            try await bench.advance(ms: 50)
            var late: [OutboxEntry] = []
            try await eventually("the abandoned entry goes to another consumer") {
                late += try await bench.unacknowledged(
                    home,
                    ConformanceBench.bert,
                    idle: .milliseconds(40)
                )
                return !late.isEmpty
            }
            try equal(Set(late.map(\.event.seq)), [2], "entries taken over")
            let kept = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(kept.map(\.event.seq), [1, 2, 3], "kept")
        },
        Case("trimming deletes old acknowledged entries") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b", "c"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            try await bench.outbox.acknowledge(partition: home, entries.map(\.id))
            try await bench.outbox.trim(partition: home, retention: .seconds(3600))
            let young = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(young.count, 3, "young entries")
            try await bench.advance(ms: 7_200_000)
            try await bench.outbox.trim(partition: home, retention: .seconds(3600))
            let old = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(old.count, 0, "old entries")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log.count, 3, "the watch's own log")
        },
        Case("trimming keeps unacknowledged entries and all later ones") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b", "c", "d"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna, limit: 3)
            let done = [entries[0].id, entries[2].id]
            try await bench.outbox.acknowledge(partition: home, done)
            try await bench.advance(ms: 7_200_000)
            try await bench.outbox.trim(partition: home, retention: .seconds(3600))
            let kept = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try bench.expect(
                Set(kept.map(\.event.seq)).isSuperset(of: [2, 4]),
                "lost one of 2 (handed out) and 4 (never read): \(kept.map(\.event.seq))"
            )
            try equal(try await bench.watches.stats().undelivered, 2, "undelivered")
        },
        Case("trimming an outbox without consumers keeps every entry") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            try await bench.advance(ms: 7_200_000)
            try await bench.outbox.trim(partition: home, retention: .seconds(3600))
            let kept = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(kept.count, 2, "entries")
        },
        Case("the bounds of an empty outbox are zero") { bench in
            let bounds = try await bench.outbox.bounds()
            try equal(bounds.count, bench.watches.partitions, "partitions")
            let zero = OutboxBounds(oldest: "0-0", newest: "0-0", trimmed: "0-0")
            try bench.expect(bounds.allSatisfy { $0 == zero }, "not zero: \(bounds)")
        },
        Case("bounds are the oldest, the newest and the newest trimmed entry") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let old = try await bench.unacknowledged(home, ConformanceBench.anna)
            try await bench.advance(ms: 7_200_000)
            try equal(
                try await bench.outbox.bounds()[home],
                OutboxBounds(oldest: old[0].id, newest: old[1].id, trimmed: "0-0"),
                "bounds before"
            )
            try await bench.handle(key, .next(after: .zero), status: "c")
            try await bench.outbox.acknowledge(partition: home, old.map(\.id))
            try await bench.outbox.trim(partition: home, retention: .seconds(3600))
            let young = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(young.map(\.event.seq), [3], "kept")
            try equal(
                try await bench.outbox.bounds()[home],
                OutboxBounds(oldest: young[0].id, newest: young[0].id, trimmed: old[1].id),
                "bounds after"
            )
        },
        Case("the bounds of a completely trimmed outbox include its newest entry") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let old = try await bench.unacknowledged(home, ConformanceBench.anna)
            try await bench.outbox.acknowledge(partition: home, old.map(\.id))
            try await bench.advance(ms: 7_200_000)
            try await bench.outbox.trim(partition: home, retention: .seconds(3600))
            try equal(
                try await bench.outbox.bounds()[home],
                OutboxBounds(oldest: "0-0", newest: old[1].id, trimmed: old[1].id),
                "bounds"
            )
        },
        Case("events of a source kind of another release are stored and delivered") { bench in
            let key = bench.key("1", kind: .other("invoice"))
            let home = bench.partition(of: key)
            try await bench.record(key, ["open", "paid"], notify: ["https://a.example/"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            try equal(entries.map(\.event.key), [key, key], "keys in the outbox")
            try equal(entries.map(\.notify.count), [1, 1], "the endpoints")
            let log = try await bench.watches.events(of: key, after: 1, limit: 9)
            try equal(log, [entries[1].event], "the log")
            let mark = DeliveryMark(url: entries[0].notify[0], watch: key)
            try await bench.deliveries.mark([mark])
            try equal(try await bench.take(mark).item.watch, key, "the delivery's watch")
        },
        Case("an arrival comes when an event is recorded") { bench in
            let stream = bench.outbox.arrivals()
            let key = try await bench.enqueued("1")
            try await bench.isNotified(bench.partition(of: key), from: stream, "an arrival") {
                try await bench.handle(key, .next(after: .zero), status: "pending")
            }
        },
    ]
}

extension ConformanceBench {
    /// Reads the unacknowledged entries of a consumer.
    func unacknowledged(
        _ partition: Int,
        _ consumer: OwnerID,
        idle: Duration = .seconds(3600),
        limit: Int = 100
    ) async throws -> [OutboxEntry] {
        try await outbox.unacknowledged(
            partition: partition,
            consumer: consumer,
            idle: idle,
            limit: limit
        )
    }
}
