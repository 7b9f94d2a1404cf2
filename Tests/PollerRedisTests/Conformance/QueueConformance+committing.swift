import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let committing: [ConformanceCase] = [
        Case("a commit stores state and error; the next clears the error") { bench in
            let key = try await bench.enqueued("1")
            let state = WatchState(
                status: SourceStatus(unchecked: "pending"),
                attempts: 7,
                step: 3,
                failures: 2,
                lastPolledAt: Timestamp(ms: 1_795_165_200_123)
            )
            let lease = try await bench.take(key)
            let change = WatchChange(state: state, lastError: "503: try later | \"soon\"\n")
            let commit = Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
            try equal(try await bench.watches.commit([commit]), [.done], "commit")
            let stored = try await bench.snapshot(key)
            try equal(stored.watch.state, state, "state")
            try equal(stored.lastError, "503: try later | \"soon\"\n", "error")
            let again = try await bench.take(key)
            try equal(again.item.state, state, "the state the next worker sees")
            _ = try await bench.commit(again, .next(after: .zero))
            try equal(try await bench.snapshot(key).lastError, nil, "error")
        },
        Case("a rounded due time is never earlier, and at most 32 ms later") { bench in
            let key = try await bench.enqueued("1")
            for wait in 500..<540 {
                let lease = try await bench.take(key)
                let state = lease.item.state
                let commit = Commit(
                    ref: lease.ref,
                    verdict: .next(after: .milliseconds(wait)),
                    change: WatchChange(state: state),
                    isDueRounded: true
                )
                let before = try await bench.claim(in: bench.partition(of: key)).now
                try equal(try await bench.watches.commit([commit]), [.done], "commit")
                let after = try await bench.claim(in: bench.partition(of: key)).now
                let due = try bench.some(try await bench.snapshot(key).nextPollAt, "a due time")
                try bench.expect(due >= before + .milliseconds(wait), "it is due too early")
                try bench.expect(due < after + .milliseconds(wait + 32), "it is due too late")
                try await bench.advance(ms: 600)
            }
        },
        Case("a hint during the lease makes the watch due at the commit") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            try equal(try await bench.watches.hint(key), true, "hint")
            try await bench.advance(ms: 200)
            _ = try await bench.commit(lease, .next(after: .seconds(3600)))
            let again = try await bench.take(key)
            try equal(again.due, again.claimedAt, "due")
            _ = try await bench.commit(again, .next(after: .seconds(3600)))
            try equal(try await bench.due(key), [], "due after one more poll")
        },
        Case("a close takes effect despite a hint and a join during the lease") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            _ = try await bench.watches.hint(key)
            try await bench.enqueue(key)
            _ = try await bench.commit(lease, .close(.gone))
            try equal(try await bench.snapshot(key).closed, .gone, "closed")
            try equal(try await bench.due(key), [], "due")
        },
        Case("every close reason is stored") { bench in
            for reason in ClosedReason.allCases {
                let key = try await bench.enqueued("\(reason)")
                try await bench.handle(key, .close(reason))
                try equal(try await bench.snapshot(key).closed, reason, "closed")
            }
        },
        Case("an event is stored in the log and the outbox, byte for byte") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key, notify: ["https://a.example/", "mailto:a@b.example"])
            let lease = try await bench.take(key)
            let commit = bench.poll(lease, .next(after: .zero), status: "chargeable")
            let event = try bench.some(commit.change.event, "the event")
            _ = try await bench.watches.commit([commit])
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.json), [event.json], "log")
            let entries = try await bench.entries(of: key)
            try equal(entries.map(\.event.json), [event.json], "outbox")
            try equal(
                entries.first?.notify.map(\.description),
                ["https://a.example/", "mailto:a@b.example"],
                "the endpoints"
            )
            try equal(try await bench.snapshot(key).lastEvent?.id, event.id, "last event")
        },
        Case("logs that are read at the same time are not mixed up") { bench in
            // Of two lanes, one of them with more watches than one call reads.
            let numbers = 0..<80
            let keys = numbers.map { bench.key("\($0)", account: $0 < 6 ? "acct_b" : "acct_a") }
            for key in keys {
                try await bench.enqueue(key)
                for (status, wait) in [("pending", Duration.zero), ("chargeable", .seconds(1800))] {
                    let lease = try await bench.take(key)
                    let result = try await bench.commit(lease, .next(after: wait), status: status)
                    try equal(result, .done, "the commit of \(status)")
                }
            }
            let watches = bench.watches
            let logs = try await withThrowingTaskGroup(of: (Int, [Event]).self) { group in
                for number in numbers {
                    group.addTask {
                        (
                            number,
                            try await watches.events(
                                of: keys[number],
                                after: number % 2,
                                limit: 1 + number % 3
                            )
                        )
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (number, key) in zip(numbers, keys) {
                let log = logs[number] ?? []
                let seqs = [1, 2].dropFirst(number % 2).prefix(1 + number % 3)
                try equal(log.map(\.seq), Array(seqs), "the read of \(number)")
                try equal(log.allSatisfy { $0.key == key }, true, "the watch of \(number)")
            }
        },
        Case("seq is gapless over changes, runs and cancellations") { bench in
            let key = bench.key("1")
            try await bench.record(key, ["pending", "chargeable"])
            _ = try await bench.watches.cancel(key)
            try await bench.record(key, ["pending"])
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.seq), [1, 2, 3, 4], "seq")
            try equal(log.map(\.run), [1, 1, 1, 2], "run")
        },
        Case("an event out of order is rejected with its whole batch") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            for key in keys { try await bench.enqueue(key) }
            let leases = try await bench.claim(in: bench.partition(of: keys[0])).leases
            let good = bench.poll(leases[0], .next(after: .zero), status: "pending")
            let ahead = Watch(
                leases[1].item.key,
                createdAt: leases[1].claimedAt,
                deadline: leases[1].endsAt,
                seq: 5
            )
            let event = Event(
                ahead,
                status: SourceStatus(unchecked: "failed"),
                polledAt: leases[1].claimedAt
            )
            let bad = Commit(
                ref: leases[1].ref,
                verdict: .next(after: .zero),
                change: WatchChange(state: WatchState(attempts: 9), event: event)
            )
            try await bench.outOfOrder("event 6 after 0") {
                _ = try await bench.watches.commit([good, bad])
            }
            for key in keys {
                let snapshot = try await bench.snapshot(key)
                try equal(snapshot.watch.seq, 0, "seq")
                try equal(snapshot.watch.state.attempts, 0, "attempts")
            }
            try equal(try await bench.watches.stats().outbox, 0, "events recorded")
            let result = try await bench.watches.commit([good])
            try equal(result, [.done], "the valid commit alone")
        },
        Case("the log keeps the last 100 events") { bench in
            let key = bench.key("1")
            try await bench.record(key, (1...105).map { "s\($0)" })
            let log = try await bench.watches.events(of: key, after: 0, limit: 500)
            try equal(log.map(\.seq), Array(6...105), "seq of the events kept")
            try equal(try await bench.snapshot(key).watch.seq, 105, "seq of the watch")
        },
        Case("the log is read after a seq and up to a limit, oldest first") { bench in
            let key = bench.key("1")
            try await bench.record(key, ["a", "b", "c", "d", "e"])
            let some = try await bench.watches.events(of: key, after: 1, limit: 3)
            try equal(some.map(\.seq), [2, 3, 4], "seq")
            let none = try await bench.watches.events(of: key, after: 5, limit: 3)
            try equal(none.map(\.seq), [], "seq after the last")
        },
        Case("a hold stops the whole lane for its span") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            for key in keys { try await bench.enqueue(key) }
            let lease = try await bench.takeOne(in: home)
            _ = try await bench.commit(lease, .next(after: .zero), signal: .hold(.seconds(3)))
            let closed = try await bench.claim(in: home)
            try equal(closed.leases.count, 0, "leases while held")
            try equal(closed.nextReady, closed.now + .seconds(3), "next ready")
            try await bench.advance(ms: 2999)
            try equal(try await bench.claim(in: home).leases.count, 0, "1 ms early")
            try await bench.advance(ms: 1)
            try equal(try await bench.claim(in: home).leases.count, 2, "after the hold")
        },
        Case("a shorter hold does not shorten a longer one") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            for key in keys { try await bench.enqueue(key) }
            let leases = try await bench.claim(in: home).leases
            _ = try await bench.commit(leases[0], .next(after: .zero), signal: .hold(.seconds(5)))
            _ = try await bench.commit(leases[1], .next(after: .zero), signal: .hold(.seconds(1)))
            try await bench.advance(ms: 4999)
            try equal(try await bench.claim(in: home).leases.count, 0, "within the first")
            try await bench.advance(ms: 1)
            try equal(try await bench.claim(in: home).leases.count, 2, "after the first")
        },
        Case("a stale commit does not hold the lane") { bench in
            let key = try await bench.enqueued("1")
            let old = try await bench.take(key)
            _ = try await bench.watches.cancel(key)
            _ = try await bench.commit(old, .next(after: .zero), signal: .hold(.seconds(60)))
            try await bench.enqueue(key)
            _ = try await bench.take(key)
        },
    ]
}
