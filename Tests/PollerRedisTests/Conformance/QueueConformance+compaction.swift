import JSONText
import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The storage of events, and their reduced form.
    static let compaction: [ConformanceCase] = [
        Case("an event is read from log and outbox as recorded, byte for byte") { bench in
            let key = bench.key("1")
            let metadata = #"{"order":"A-ä","note":"}{\"\\"}"#
            try await bench.enqueueWithEvents(key, metadata)
            let lease = try await bench.take(key)
            let commit = bench.look(lease, .next(after: .zero), object: largeObject)
            _ = try await bench.watches.commit([commit])
            let wanted = try bench.some(commit.change.event, "an event")
                .carrying(metadata: metadata)
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log.map(\.json), [wanted.json], "the log")
            let outbox = try await bench.entries(of: key)
            try equal(outbox.map(\.event.json), [wanted.json], "the outbox")
            try equal(try await bench.snapshot(key).lastEvent, wanted, "the newest event")
        },
        Case("only events of watches that closed long ago lose their bodies") { bench in
            let (old, young, open) = (bench.key("1"), bench.key("2"), bench.key("3"))
            let metadata = #"{"order":"A77"}"#
            try await bench.enqueueWithEvents(old, metadata)
            try await bench.end(old)
            try await bench.advance(ms: 8000)
            try await bench.enqueueWithEvents(young, metadata)
            try await bench.end(young)
            try await bench.enqueueWithEvents(open, metadata)
            _ = try await bench.watches.commit([
                bench.look(try await bench.take(open), .next(after: .seconds(90)))
            ])
            let before = try await bench.events([old, young, open])
            try await bench.advance(ms: 3000)
            try await bench.removeBodies(old, after: .seconds(10))
            let after = try await bench.events([old, young, open])
            try equal(after[0], before[0].map(\.withoutBody), "events of the old watch")
            try bench.expect(after[0].allSatisfy { !$0.hasBody }, "an object was left")
            try bench.expect(
                after[0].allSatisfy { $0.metadata.isEmpty && $0.json.contains(#""object":null"#) },
                "metadata were left"
            )
            try equal(Array(after[1...]), Array(before[1...]), "events of the other watches")
            try equal(after[0].map(\.id), before[0].map(\.id), "ids")
        },
        Case("a watch that was restarted and closed again loses its new bodies, too") { bench in
            let key = bench.key("1")
            try await bench.enqueueWithEvents(key, #"{"order":"A77"}"#)
            try await bench.end(key)
            try await bench.advance(ms: 11_000)
            try await bench.removeBodies(key, after: .seconds(10))
            try await bench.enqueue(key)
            try await bench.end(key)
            let whole = try await bench.events([key])[0]
            try equal(whole.count, 2, "events")
            try bench.expect(!whole[0].hasBody && whole[1].hasBody, "bodies")
            try await bench.advance(ms: 11_000)
            try await bench.removeBodies(key, after: .seconds(10))
            let reduced = try await bench.events([key])[0]
            try equal(reduced, whole.map(\.withoutBody), "events")
            try equal(try await bench.snapshot(key).lastEvent, reduced.last, "the newest")
        },
        Case("events that are packed together are read byte for byte from any seq") { bench in
            let (key, young) = (bench.key("1"), bench.key("2"))
            try await bench.enqueueWithEvents(key, #"{"order":"A77"}"#)
            for _ in 0..<3 {
                _ = try await bench.watches.commit([
                    bench.look(try await bench.take(key), .next(after: .zero))
                ])
            }
            try await bench.end(key)
            try await bench.advance(ms: 8000)
            try await bench.enqueueWithEvents(young, #"{"order":"A77"}"#)
            try await bench.end(young)
            let whole = try await bench.events([key])[0]
            try await bench.advance(ms: 3000)
            try await bench.compact(key, after: .seconds(10))
            try await bench.readsAll(whole, of: key)
            // The first entry, and one recorded after it.
            try await bench.enqueue(key)
            try await bench.end(key)
            let more = try await bench.events([key])[0]
            try equal(more.map(\.json).dropLast(), whole.map(\.json), "the first events")
            try await bench.readsAll(more, of: key)
            try await bench.advance(ms: 11_000)
            try await bench.compact(key, after: .seconds(10))
            try await bench.readsAll(more, of: key)
            try equal(try await bench.snapshot(key).lastEvent, more.last, "the newest")
            try await bench.removeBodies(key, after: .seconds(10))
            let reduced = try await bench.events([key])[0]
            try equal(reduced, more.map(\.withoutBody), "the reduced events")
            try await bench.compact(key, after: .zero)
            try equal(try await bench.events([key])[0], reduced, "the same")
        },
        Case("a log keeps its last hundred events after some were packed together") { bench in
            let key = bench.key("1")
            try await bench.enqueueWithEvents(key, #"{"order":"A77"}"#)
            for round in 0..<2 {
                for _ in 0..<(round == 0 ? 19 : 94) {
                    _ = try await bench.watches.commit([
                        bench.look(try await bench.take(key), .next(after: .zero))
                    ])
                }
                try await bench.end(key)
                try await bench.advance(ms: 11_000)
                try await bench.compact(key, after: .seconds(10))
                if round == 0 { try await bench.enqueue(key) }
            }
            let events = try await bench.watches.events(of: key, after: 0, limit: 100)
            try equal(events.map(\.seq), Array(16...115), "its last hundred events")
            let log = try await bench.watches.deliverableLog(of: key, after: 0, limit: 100)
            try equal(log.map(\.seq), Array(16...115), "the same for deliveries")
            let some = try await bench.watches.events(of: key, after: 18, limit: 4)
            try equal(some.map(\.seq), Array(19...22), "events after 18")
        },
        Case("a compacted log is read from any seq") { bench in
            let key = bench.key("1")
            try await bench.enqueueWithEvents(key, #"{"order":"A77"}"#)
            for _ in 0..<3 {
                _ = try await bench.watches.commit([
                    bench.look(try await bench.take(key), .next(after: .zero))
                ])
            }
            try await bench.end(key)
            let whole = try await bench.events([key])[0]
            try await bench.advance(ms: 11_000)
            try await bench.removeBodies(key, after: .seconds(10))
            try await bench.enqueue(key)
            try await bench.end(key)
            let all = whole.map(\.withoutBody) + (try await bench.events([key])[0].suffix(1))
            try equal(all.count, 5, "events")
            for seq in 0...5 {
                let rest = try await bench.watches.events(of: key, after: seq, limit: 9)
                try equal(rest, Array(all.dropFirst(seq)), "events after \(seq)")
                let next = try await bench.watches.events(of: key, after: seq, limit: 2)
                try equal(next, Array(all.dropFirst(seq).prefix(2)), "two after \(seq)")
            }
            let home = bench.partition(of: key)
            let published = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(published.map(\.event.id), all.map(\.id), "its events in the outbox")
            let read = try await bench.outbox.unacknowledged(
                partition: home,
                consumer: OwnerID(unchecked: "reader"),
                idle: .seconds(5),
                limit: 9
            )
            try equal(read.map(\.event.id), all.map(\.id), "its events read by a notifier")
        },
        Case("a delivery that succeeded long ago keeps only its accepted attempts") { bench in
            let (done, dead, young) = (
                try bench.mark("1"), try bench.mark("2"), try bench.mark("3")
            )
            var attempts: [[AttemptRecord]] = []
            for (mark, reason) in [(done, ClosedReason.settled), (dead, .dead), (young, .settled)] {
                if mark == young { try await bench.advance(ms: 8000) }
                try await bench.deliveries.mark([mark])
                let made = [bench.failure, .delivered].enumerated().map {
                    bench.attempt($0.offset + 1, $0.element)
                }
                for (number, attempt) in made.enumerated() {
                    let state = DeliveryState(dead: reason == .dead ? [1] : [])
                    try await bench.end(
                        try await bench.take(mark),
                        number == 1 ? .close(reason) : .next(after: .zero),
                        state: state,
                        attempt: attempt
                    )
                }
                attempts.append(made)
            }
            try await bench.advance(ms: 3000)
            for partition in 0..<bench.deliveries.partitions {
                let queue = bench.deliveries
                while try await queue.trimAttempts(partition: partition, retention: .seconds(10)) {}
            }
            func kept(_ mark: DeliveryMark) async throws -> [AttemptRecord] {
                let id = bench.deliveries.id(of: mark.endpoint, mark.watch)
                return try await bench.deliveries.attempts(of: id)
            }
            try equal(
                try await kept(done),
                attempts[0].compactMap(\.withoutDetails),
                "attempts of the old delivery"
            )
            try equal(try await kept(dead), attempts[1], "attempts of the dead delivery")
            try equal(try await kept(young), attempts[2], "attempts of the young delivery")
            // A reopened delivery adds to its attempts.
            try await bench.deliveries.mark([done])
            let third = bench.attempt(3, .delivered)
            try await bench.end(try await bench.take(done), .close(.settled), attempt: third)
            let all = attempts[0].compactMap(\.withoutDetails) + [third]
            try equal(try await kept(done), all, "attempts after one more")
        },
        Case("many watches that closed at the same time all lose their bodies") { bench in
            let keys = try await bench.enqueued(0..<600)
            let home = bench.partition(of: keys[0])
            var ended = 0
            while ended < keys.count {
                let leases = try await bench.claim(in: home, limit: 200).leases
                if leases.isEmpty { try await bench.advance(ms: 1000) }
                _ = try await bench.watches.commit(leases.map { bench.look($0, .close(.settled)) })
                ended += leases.count
            }
            try await bench.advance(ms: 20_000)
            try await bench.removeBodies(keys[0], after: .seconds(10))
            let events = try await bench.events(keys)
            try equal(events.count { $0.first?.hasBody == false }, keys.count, "no body")
        },
    ]

    /// An object that is too long to pack well, with all characters that must be escaped.
    private static let largeObject =
        #"{"id":"src_1","text":"\u0000\"\\ä€𝄞","list":["#
        + (0..<400).map { "\($0 * 7919)" }.joined(separator: ",") + "]}"
}

extension ConformanceBench {
    fileprivate func enqueueWithEvents(_ key: WatchKey, _ metadata: String) async throws {
        _ = try await watches.enqueue([try NewWatch(key: key, metadata: metadata)])
    }

    /// Creates the commit of a poll that has read an object.
    fileprivate func look(
        _ lease: Lease<Watch>,
        _ verdict: Verdict,
        object: String = #"{"id":"src_1","owner":"Jenny"}"#
    ) -> Commit<WatchChange> {
        var state = lease.item.state
        state.status = SourceStatus(unchecked: "consumed")
        let event = Event(
            lease.item,
            status: state.status,
            final: verdict == .close(.settled),
            object: RawJSON(unchecked: object),
            polledAt: lease.claimedAt
        )
        return Commit(
            ref: lease.ref,
            verdict: verdict,
            change: WatchChange(state: state, event: event, lastError: nil)
        )
    }

    fileprivate func end(_ key: WatchKey) async throws {
        let result = try await watches.commit([look(try await take(key), .close(.settled))])
        try equal(result, [.done], "the close of \(key.source)")
    }

    fileprivate func compact(_ key: WatchKey, after span: Duration) async throws {
        while try await watches.compact(partition: partition(of: key), after: span) {}
    }

    /// Checks every way to read the events of a watch.
    fileprivate func readsAll(_ all: [Event], of key: WatchKey) async throws {
        for seq in 0...all.count {
            let rest = try await watches.events(of: key, after: seq, limit: 9)
            try equal(rest.map(\.json), all.dropFirst(seq).map(\.json), "events after \(seq)")
            let next = try await watches.events(of: key, after: seq, limit: 2)
            try equal(next, Array(all.dropFirst(seq).prefix(2)), "two after \(seq)")
            let log = try await watches.deliverableLog(of: key, after: seq, limit: 9)
            try equal(log.map(\.digest), all.dropFirst(seq).map(\.digest), "digests after \(seq)")
        }
        let entries = try await outbox.entries(partition: partition(of: key), after: "0", limit: 99)
        let published = entries.map(\.event).filter { $0.key == key }
        try equal(published.map(\.json), all.map(\.json), "its events in the outbox")
    }

    fileprivate func removeBodies(_ key: WatchKey, after retention: Duration) async throws {
        while try await watches.removeBodies(partition: partition(of: key), retention: retention) {}
    }

    fileprivate func events(_ keys: [WatchKey]) async throws -> [[Event]] {
        var all: [[Event]] = []
        for key in keys { all.append(try await watches.events(of: key, after: 0, limit: 9)) }
        return all
    }
}

extension Event {
    fileprivate var hasBody: Bool { RawJSON(unchecked: json).member("object")?.isNull == false }
}
