import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let hinting: [ConformanceCase] = [
        Case("a hint makes a waiting watch due now and is stored") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .next(after: .seconds(3600)))
            try await bench.advance(ms: 500)
            try equal(try await bench.watches.hint(key), true, "hint")
            let lease = try await bench.take(key)
            try equal(lease.due, lease.claimedAt, "due")
            try equal(lease.item.hintedAt, lease.claimedAt, "hinted at")
        },
        Case("a hint does not postpone an overdue watch") { bench in
            let key = try await bench.enqueued("1")
            try await bench.advance(ms: 500)
            _ = try await bench.watches.hint(key)
            let lease = try await bench.take(key)
            try equal(lease.due, lease.claimedAt + .milliseconds(-500), "due")
        },
        Case("a hint or a join of a leased watch is announced to its owner") { bench in
            for isHint in [true, false] {
                let key = try await bench.enqueued("1")
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
        Case("a hint of an unknown or settled watch changes nothing") { bench in
            let key = bench.key("1")
            try equal(try await bench.watches.hint(key), false, "an unknown watch")
            try await bench.enqueue(key)
            try await bench.handle(key, .close(.settled))
            try equal(try await bench.watches.hint(key), false, "a closed watch")
            try equal(try await bench.due(key), [], "due")
        },
        Case("a hint reopens an expired or gone watch with its state and options") { bench in
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
                try await bench.handle(key, .close(reason), status: "pending", error: "in vain")
                let before = try await bench.snapshot(key)
                try await bench.advance(ms: 7_200_000)
                try equal(try await bench.watches.hint(key), true, "\(reason)")
                let lease = try await bench.take(key)
                let watch = lease.item
                try equal(watch.run, 2, "run")
                try equal(watch.seq, 1, "seq")
                try equal(watch.reopenedSeq, 1, "seq at the reopening")
                try equal(watch.state, before.watch.state, "the state")
                try equal(watch.createdAt, lease.claimedAt, "beginning")
                try equal(watch.deadline - watch.createdAt, .seconds(3600), "span")
                try equal(watch.hintedAt, lease.claimedAt, "hinted at")
                try equal(watch.charge, .whole, "the order")
                try equal(watch.clientSecret, new.clientSecret, "the secret")
                let open = try await bench.snapshot(key)
                try equal(open.closed, nil, "closed")
                try equal(open.lastError, nil, "the error")
                try equal(open.notify, new.notify, "endpoints")
                try equal(open.metadata, new.metadata, "metadata")
                // A change has the next number; without a change the watch closes and records nothing.
                _ = try await bench.commit(lease, .next(after: .zero), status: "failed")
                let hinted = try await bench.take(key).item
                try equal([hinted.seq, hinted.reopenedSeq], [2, 1], "seq after an event")
                _ = try await bench.watches.cancel(key)
                try await bench.enqueue(key)
                try equal(try await bench.take(key).item.reopenedSeq, nil, "after a restart")
                _ = try await bench.watches.cancel(key)
            }
        },
        Case("a watch reopened by a hint can close as before, without an event") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .close(.expired), status: "pending")
            for run in 2...3 {
                try equal(try await bench.watches.hint(key), true, "hint")
                let lease = try await bench.take(key)
                try equal(lease.item.run, run, "run")
                _ = try await bench.commit(lease, .close(.expired))
                let snapshot = try await bench.snapshot(key)
                try equal(snapshot.closed, .expired, "closed")
                try equal(snapshot.watch.seq, 1, "seq")
            }
        },
        Case("a watch reopened by a hint becomes a normal watch when it is joined") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key, timeout: .seconds(5))
            try await bench.handle(key, .close(.expired), status: "pending")
            _ = try await bench.watches.hint(key)
            let joined = try await bench.enqueue(key, timeout: .seconds(3600))
            try equal(joined.outcome, .joined, "outcome")
            let watch = try await bench.take(key).item
            try equal(watch.reopenedSeq, nil, "seq at the reopening")
            try equal(watch.deadline - watch.createdAt, .seconds(3600), "span")
        },
        Case("a hint does not reopen a settled, reached, cancelled or dead watch") { bench in
            for reason in ClosedReason.allCases where !reason.opensOnHint {
                let key = bench.key(reason.rawValue)
                try await bench.enqueue(key)
                try await bench.handle(key, .close(reason))
                try equal(try await bench.watches.hint(key), false, "\(reason)")
                try equal(try await bench.snapshot(key).closed, reason, "closed")
                try equal(try await bench.due(key), [], "due")
            }
        },
        Case("a join with a later deadline overrides an expiry decided before") { bench in
            for (name, status) in [("1", "pending"), ("2", nil)] {
                let key = bench.key(name)
                try await bench.enqueue(key, timeout: .seconds(5))
                try await bench.advance(ms: 6000)
                let lease = try await bench.take(key)
                try await bench.enqueue(key, timeout: .seconds(3600))
                let result = try await bench.commit(lease, .close(.expired), status: status)
                try equal(result, .done, "the commit")
                let again = try await bench.take(key)
                try equal(again.item.seq, 0, "events recorded")
                _ = try await bench.commit(again, .next(after: .seconds(60)))
            }
        },
        Case("cancelling a leased watch frees its slot") { bench in
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            let keys = [bench.key("1"), bench.key("2")]
            for key in keys { try await bench.enqueue(key) }
            let home = bench.partition(of: keys[0])
            let first = try await bench.claim(in: home, lane: limit)
            let held = try bench.some(first.leases.first, "a lease").item.key
            try equal(try await bench.watches.cancel(held), true, "cancel")
            let second = try await bench.claim(in: home, lane: limit)
            try equal(second.leases.map(\.item.key), keys.filter { $0 != held }, "due")
        },
        Case("release after a hint leaves the watch due") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            _ = try await bench.watches.hint(key)
            _ = try await bench.watches.release([lease.ref])
            _ = try await bench.take(key)
        },
        Case("cancelling closes a waiting watch and records an event") { bench in
            let key = bench.key("1")
            try await bench.record(key, ["pending"], notify: ["https://a.example/"])
            try equal(try await bench.watches.cancel(key), true, "cancel")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.closed, .cancelled, "closed")
            try equal(snapshot.nextPollAt, nil, "next poll")
            try equal(snapshot.watch.seq, 2, "seq")
            let event = try bench.some(snapshot.lastEvent, "the event")
            try equal(event.type, "watch.cancelled", "type")
            try equal(event.seq, 2, "seq of the event")
            try equal(event.final, false, "final")
            try equal(event.closed, .cancelled, "closed")
            try equal(event.status?.description, "pending", "status")
            try equal(event.previousStatus?.description, "pending", "previous status")
            try equal(event.key, key, "key")
            try equal(
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
            let entries = try await bench.entries(of: key)
            try equal(entries.map(\.event.seq), [1, 2], "outbox")
            try equal(entries.last?.notify.count, 1, "the endpoints")
            try equal(try await bench.due(key), [], "due")
        },
        Case("cancelling a watch before its first poll reports no status") { bench in
            let key = try await bench.enqueued("1")
            _ = try await bench.watches.cancel(key)
            let event = try bench.some(try await bench.snapshot(key).lastEvent, "the event")
            try equal(event.status, nil, "status")
            try bench.expect(Event(json: event.json) == event, "the decoded event differs")
        },
        Case("a cancellation makes a poll in flight stale and frees its slot") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            let one = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            for key in keys { try await bench.enqueue(key) }
            let lease = try bench.some(
                try await bench.claim(in: home, lane: one).leases.first,
                "a lease"
            )
            try equal(try await bench.claim(in: home, lane: one).leases.count, 0, "slots")
            try equal(try await bench.watches.cancel(lease.item.key), true, "cancel")
            let next = try await bench.claim(in: home, lane: one).leases
            try equal(next.count, 1, "leases after the cancellation")
            let result = try await bench.commit(lease, .next(after: .zero), status: "failed")
            try equal(result, .leaseLost, "the stale commit")
            let log = try await bench.watches.events(of: lease.item.key, after: 0, limit: 9)
            try equal(log.map(\.type), ["watch.cancelled"], "log")
        },
        Case("the lease of a cancelled watch is not recovered") { bench in
            let key = try await bench.enqueued("1")
            _ = try await bench.take(key)
            _ = try await bench.watches.cancel(key)
            try await bench.advance(ms: 60_000)
            let claim = try await bench.claim(in: bench.partition(of: key))
            try equal(claim.leases.count, 0, "leases")
            try equal(claim.nextReady, nil, "next ready")
        },
        Case("only open watches can be cancelled, and only once") { bench in
            let key = bench.key("1")
            try equal(try await bench.watches.cancel(key), false, "an unknown watch")
            try await bench.enqueue(key)
            try equal(try await bench.watches.cancel(key), true, "the first time")
            try equal(try await bench.watches.cancel(key), false, "the second time")
            try equal(try await bench.snapshot(key).watch.seq, 1, "seq")
        },
    ]
}
