import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let hinting: [ConformanceCase] = [
        ConformanceCase("a hint makes a waiting watch due now and is stored") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            _ = try await bench.commit(try await bench.take(key), .next(after: .seconds(3600)))
            try await bench.advance(ms: 500)
            try bench.equal(try await bench.watches.hint(key), true, "hint")
            let lease = try await bench.take(key)
            try bench.equal(lease.due, lease.claimedAt, "due")
            try bench.equal(lease.item.hintedAt, lease.claimedAt, "hinted at")
        },
        ConformanceCase("a hint does not postpone an overdue watch") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            try await bench.advance(ms: 500)
            _ = try await bench.watches.hint(key)
            let lease = try await bench.take(key)
            try bench.equal(lease.due, lease.claimedAt + .milliseconds(-500), "due")
        },
        ConformanceCase("a hint or a join of a leased watch is announced to its owner") {
            bench in
            for isHint in [true, false] {
                let key = bench.key("1")
                try await bench.enqueue(key)
                let stream = bench.watches.marks()
                try await bench.isNotified(bench.partition(of: key), from: stream, "a mark") {
                    let lease = try await bench.take(key)
                    if isHint {
                        _ = try await bench.watches.hint(key)
                    } else {
                        try await bench.enqueue(key)
                    }
                    _ = try await bench.commit(lease, .next(after: .zero))
                }
            }
        },
        ConformanceCase("a hint of an unknown or settled watch changes nothing") { bench in
            let key = bench.key("1")
            try bench.equal(try await bench.watches.hint(key), false, "an unknown watch")
            try await bench.enqueue(key)
            _ = try await bench.commit(try await bench.take(key), .close(.settled))
            try bench.equal(try await bench.watches.hint(key), false, "a closed watch")
            try bench.equal(try await bench.due(key), [], "due")
        },
        ConformanceCase("a hint reopens an expired or gone watch with its state and options") {
            bench in
            for (name, reason) in [("1", ClosedReason.expired), ("2", .gone)] {
                let key = bench.key(name)
                let new = try NewWatch(
                    key: key,
                    timeout: .seconds(3600),
                    notify: [try NotifyURL("https://a.example/")],
                    clientSecret: ClientSecret(unchecked: "s_1"),
                    metadata: #"{"order":"1"}"#,
                    charge: .whole
                )
                _ = try await bench.watches.enqueue([new])
                _ = try await bench.commit(
                    try await bench.take(key),
                    .close(reason),
                    status: "pending",
                    error: "in vain"
                )
                let before = try await bench.snapshot(key)
                try await bench.advance(ms: 7_200_000)
                try bench.equal(try await bench.watches.hint(key), true, "\(reason)")
                let lease = try await bench.take(key)
                let watch = lease.item
                try bench.equal(watch.run, 2, "run")
                try bench.equal(watch.seq, 1, "seq")
                try bench.equal(watch.reopenedSeq, 1, "seq at the reopening")
                try bench.equal(watch.state, before.watch.state, "the state")
                try bench.equal(watch.createdAt, lease.claimedAt, "beginning")
                try bench.equal(watch.deadline - watch.createdAt, .seconds(3600), "span")
                try bench.equal(watch.hintedAt, lease.claimedAt, "hinted at")
                try bench.equal(watch.charge, .whole, "the order")
                try bench.equal(watch.clientSecret, new.clientSecret, "the secret")
                let open = try await bench.snapshot(key)
                try bench.equal(open.closed, nil, "closed")
                try bench.equal(open.lastError, nil, "the error")
                try bench.equal(open.notify, new.notify, "endpoints")
                try bench.equal(open.metadata, new.metadata, "metadata")
                // A change has the next number; without a change the watch closes and records nothing.
                _ = try await bench.commit(lease, .next(after: .zero), status: "failed")
                let hinted = try await bench.take(key).item
                try bench.equal([hinted.seq, hinted.reopenedSeq], [2, 1], "seq after an event")
                _ = try await bench.watches.cancel(key)
                try await bench.enqueue(key)
                try bench.equal(try await bench.take(key).item.reopenedSeq, nil, "after a restart")
                _ = try await bench.watches.cancel(key)
            }
        },
        ConformanceCase("a watch reopened by a hint can close as before, without an event") {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            _ = try await bench.commit(
                try await bench.take(key),
                .close(.expired),
                status: "pending"
            )
            for run in 2...3 {
                try bench.equal(try await bench.watches.hint(key), true, "hint")
                let lease = try await bench.take(key)
                try bench.equal(lease.item.run, run, "run")
                _ = try await bench.commit(lease, .close(.expired))
                let snapshot = try await bench.snapshot(key)
                try bench.equal(snapshot.closed, .expired, "closed")
                try bench.equal(snapshot.watch.seq, 1, "seq")
            }
        },
        ConformanceCase("a watch reopened by a hint becomes a normal watch when it is joined") {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key, timeout: .seconds(5))
            _ = try await bench.commit(
                try await bench.take(key),
                .close(.expired),
                status: "pending"
            )
            _ = try await bench.watches.hint(key)
            let joined = try await bench.enqueue(key, timeout: .seconds(3600))
            try bench.equal(joined.outcome, .joined, "outcome")
            let watch = try await bench.take(key).item
            try bench.equal(watch.reopenedSeq, nil, "seq at the reopening")
            try bench.equal(watch.deadline - watch.createdAt, .seconds(3600), "span")
        },
        ConformanceCase("a hint does not reopen a settled, reached, cancelled or dead watch") {
            bench in
            for reason in ClosedReason.allCases where !reason.opensOnHint {
                let key = bench.key(reason.rawValue)
                try await bench.enqueue(key)
                _ = try await bench.commit(try await bench.take(key), .close(reason))
                try bench.equal(try await bench.watches.hint(key), false, "\(reason)")
                try bench.equal(try await bench.snapshot(key).closed, reason, "closed")
                try bench.equal(try await bench.due(key), [], "due")
            }
        },
        ConformanceCase("a join with a later deadline overrides an expiry decided before") {
            bench in
            for (name, status) in [("1", "pending"), ("2", nil)] {
                let key = bench.key(name)
                try await bench.enqueue(key, timeout: .seconds(5))
                try await bench.advance(ms: 6000)
                let lease = try await bench.take(key)
                try await bench.enqueue(key, timeout: .seconds(3600))
                let result = try await bench.commit(lease, .close(.expired), status: status)
                try bench.equal(result, .done, "the commit")
                let again = try await bench.take(key)
                try bench.equal(again.item.seq, 0, "events recorded")
                _ = try await bench.commit(again, .next(after: .seconds(60)))
            }
        },
        ConformanceCase("cancelling a leased watch frees its slot") { bench in
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            let keys = [bench.key("1"), bench.key("2")]
            for key in keys { try await bench.enqueue(key) }
            let home = bench.partition(of: keys[0])
            let first = try await bench.claim(in: home, lane: limit)
            let held = try bench.some(first.leases.first, "a lease").item.key
            try bench.equal(try await bench.watches.cancel(held), true, "cancel")
            let second = try await bench.claim(in: home, lane: limit)
            try bench.equal(second.leases.map(\.item.key), keys.filter { $0 != held }, "due")
        },
        ConformanceCase("release after a hint leaves the watch due") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            let lease = try await bench.take(key)
            _ = try await bench.watches.hint(key)
            _ = try await bench.watches.release([lease.ref])
            _ = try await bench.take(key)
        },
        ConformanceCase("cancelling closes a waiting watch and records an event") { bench in
            let key = bench.key("1")
            try await bench.record(key, ["pending"], notify: ["https://a.example/"])
            try bench.equal(try await bench.watches.cancel(key), true, "cancel")
            let snapshot = try await bench.snapshot(key)
            try bench.equal(snapshot.closed, .cancelled, "closed")
            try bench.equal(snapshot.nextPollAt, nil, "next poll")
            try bench.equal(snapshot.watch.seq, 2, "seq")
            let event = try bench.some(snapshot.lastEvent, "the event")
            try bench.equal(event.type, "watch.cancelled", "type")
            try bench.equal(event.seq, 2, "seq of the event")
            try bench.equal(event.final, false, "final")
            try bench.equal(event.closed, .cancelled, "closed")
            try bench.equal(event.status?.description, "pending", "status")
            try bench.equal(event.previousStatus?.description, "pending", "previous status")
            try bench.equal(event.key, key, "key")
            try bench.equal(
                event.id,
                EventID(
                    key: key,
                    run: 1,
                    began: snapshot.watch.createdAt,
                    seq: 2,
                    type: "watch.cancelled"
                ),
                "id"
            )
            let entries = try await bench.outbox.entries(
                partition: bench.partition(of: key),
                after: "0",
                limit: 10
            )
            try bench.equal(entries.map(\.event.seq), [1, 2], "outbox")
            try bench.equal(entries.last?.notify.count, 1, "the endpoints")
            try bench.equal(try await bench.due(key), [], "due")
        },
        ConformanceCase("cancelling a watch before its first poll reports no status") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            _ = try await bench.watches.cancel(key)
            let event = try bench.some(try await bench.snapshot(key).lastEvent, "the event")
            try bench.equal(event.status, nil, "status")
            try bench.expect(Event(json: event.json) == event, "the decoded event differs")
        },
        ConformanceCase("a cancellation makes a poll in flight stale and frees its slot") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            let one = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            for key in keys { try await bench.enqueue(key) }
            let lease = try bench.some(
                try await bench.claim(in: home, lane: one).leases.first,
                "a lease"
            )
            try bench.equal(try await bench.claim(in: home, lane: one).leases.count, 0, "slots")
            try bench.equal(try await bench.watches.cancel(lease.item.key), true, "cancel")
            let next = try await bench.claim(in: home, lane: one).leases
            try bench.equal(next.count, 1, "leases after the cancellation")
            let result = try await bench.commit(lease, .next(after: .zero), status: "failed")
            try bench.equal(result, .leaseLost, "the stale commit")
            let log = try await bench.watches.events(of: lease.item.key, after: 0, limit: 9)
            try bench.equal(log.map(\.type), ["watch.cancelled"], "log")
        },
        ConformanceCase("the lease of a cancelled watch is not recovered") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            _ = try await bench.take(key)
            _ = try await bench.watches.cancel(key)
            try await bench.advance(ms: 60_000)
            let claim = try await bench.claim(in: bench.partition(of: key))
            try bench.equal(claim.leases.count, 0, "leases")
            try bench.equal(claim.nextReady, nil, "next ready")
        },
        ConformanceCase("only open watches can be cancelled, and only once") { bench in
            let key = bench.key("1")
            try bench.equal(try await bench.watches.cancel(key), false, "an unknown watch")
            try await bench.enqueue(key)
            try bench.equal(try await bench.watches.cancel(key), true, "the first time")
            try bench.equal(try await bench.watches.cancel(key), false, "the second time")
            try bench.equal(try await bench.snapshot(key).watch.seq, 1, "seq")
        },
    ]
}
