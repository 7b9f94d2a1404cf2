import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let fencing: [ConformanceCase] = [
        Case("a commit under an older token changes nothing") { bench in
            let key = try await bench.enqueued("1")
            let old = try await bench.take(key)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let new = try await bench.take(key, owner: ConformanceBench.bert)
            let before = try await bench.snapshot(key)
            let stale = try await bench.commit(old, .close(.settled), status: "consumed")
            try equal(stale, .leaseLost, "the stale commit")
            try equal(try await bench.snapshot(key), before, "the watch")
            try equal(try await bench.watches.stats().outbox, 0, "events recorded")
            let valid = try await bench.commit(new, .next(after: .zero), status: "chargeable")
            try equal(valid, .done, "the valid commit")
        },
        Case("a commit under an older token of the same owner is rejected") { bench in
            let key = try await bench.enqueued("1")
            let old = try await bench.take(key)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            _ = try await bench.take(key)
            let result = try await bench.commit(old, .next(after: .zero), status: "failed")
            try equal(result, .leaseLost, "the stale commit")
        },
        Case("a commit by another owner with the right token is rejected") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            let forged = LeaseRef(
                id: lease.ref.id,
                partition: lease.ref.partition,
                token: lease.ref.token,
                owner: ConformanceBench.bert
            )
            let commit = Commit(
                ref: forged,
                verdict: .close(.settled),
                change: WatchChange(state: WatchState(attempts: 99))
            )
            try equal(try await bench.watches.commit([commit]), [.leaseLost], "the commit")
            try equal(try await bench.snapshot(key).watch.state.attempts, 0, "attempts")
            try equal(try await bench.commit(lease, .rest), .done, "the commit of the right owner")
        },
        Case("an expired lease is lost even while the item has no new owner") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            for key in keys { try await bench.enqueue(key) }
            let lost = try await bench.claim(in: home).leases
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let narrow = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            let found = try await bench.claim(in: home, owner: ConformanceBench.bert, lane: narrow)
            try equal(found.leases.count, 1, "leases in a lane with one slot")
            let free = try bench.some(
                lost.first { $0.ref.id != found.leases.first?.ref.id },
                "the recovered item that waits"
            )
            let result = try await bench.commit(free, .next(after: .zero), status: "failed")
            try equal(result, .leaseLost, "the stale commit")
            try equal(try await bench.snapshot(free.item.key).watch.seq, 0, "seq")
        },
        Case("a stale release changes nothing") { bench in
            let key = try await bench.enqueued("1")
            let old = try await bench.take(key)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let new = try await bench.take(key, owner: ConformanceBench.bert)
            let result = try await bench.watches.release([old.ref])
            try equal(result, [.leaseLost], "the stale release")
            try equal(try await bench.due(key), [], "due while leased")
            try equal(try await bench.commit(new, .next(after: .zero)), .done, "commit")
        },
        Case("a commit of an unknown item is rejected") { bench in
            let ref = LeaseRef(
                id: bench.key("none").id,
                partition: 0,
                token: 1,
                owner: ConformanceBench.anna
            )
            let commit = Commit(ref: ref, verdict: .rest, change: WatchChange(state: WatchState()))
            try equal(try await bench.watches.commit([commit]), [.leaseLost], "commit")
            try equal(try await bench.watches.release([ref]), [.leaseLost], "release")
            try equal(try await bench.watches.stats(), StoreStats(), "counts")
        },
        Case("a repeated commit returns `done` and changes nothing") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            let commit = bench.poll(lease, .next(after: .seconds(5)), status: "chargeable")
            try equal(try await bench.watches.commit([commit]), [.done], "the first")
            try await bench.advance(ms: 1000)
            let before = try await bench.snapshot(key)
            try equal(try await bench.watches.commit([commit]), [.done], "the second")
            try equal(try await bench.snapshot(key), before, "the watch")
            try equal(try await bench.watches.stats().outbox, 1, "events recorded")
        },
        Case("a repeated closing commit returns `done` and records one event") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            let commit = bench.poll(lease, .close(.settled), status: "consumed")
            for _ in 0..<3 {
                try equal(try await bench.watches.commit([commit]), [.done], "the commit")
            }
            try equal(try await bench.watches.stats().outbox, 1, "events recorded")
        },
        Case("a commit repeated after the next claim is lost") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            let commit = bench.poll(lease, .next(after: .zero), status: "chargeable")
            _ = try await bench.watches.commit([commit])
            _ = try await bench.take(key)
            try equal(try await bench.watches.commit([commit]), [.leaseLost], "commit")
            try equal(try await bench.snapshot(key).watch.seq, 1, "seq")
        },
        Case("an owner recalls the items of claims whose responses it did not receive") { bench in
            let keys = bench.keys(0..<4)
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 3)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            let received = try await bench.claim(in: home, limit: 1, lane: limit)
            try await bench.advance(ms: 5)
            let bert = ConformanceBench.bert
            let other = try await bench.claim(in: home, limit: 1, owner: bert, lane: limit)
            let lost = try await bench.claim(in: home, limit: 1, lane: limit)
            try equal(lost.leases.count, 1, "items of the lost claim")
            let unheard = LostClaims(before: bench.request(home, lane: limit), since: received.now)
            for expected in [1, 0] {
                let count = try await bench.watches.recall(unheard)
                try equal(count, expected, "items recalled")
            }
            for lease in received.leases + other.leases {
                let result = try await bench.commit(lease, .next(after: .seconds(60)))
                try equal(result, .done, "a commit of a received lease")
            }
            let late = try await bench.watches.release(lost.leases.map(\.ref))
            try equal(late, [.done], "the release of a recalled item")
            let again = try await bench.claim(in: home, lane: limit)
            try equal(again.leases.count, 2, "items of the next claim")
            let lease = try bench.some(
                again.leases.first { $0.item.key == lost.leases[0].item.key },
                "the lost item"
            )
            try equal(lease.due, lost.leases[0].due, "due")
            try equal(lease.crashes, 0, "crashes")
            try bench.expect(lease.ref.token > lost.leases[0].ref.token, "the token did not rise")
        },
        Case("an owner that received no response recalls all items it holds") { bench in
            let keys = try await bench.enqueued(0..<3)
            let home = bench.partition(of: keys[0])
            _ = try await bench.claim(in: home)
            let recalled = try await bench.watches.recall(
                LostClaims(before: bench.request(home), since: nil)
            )
            try equal(recalled, 3, "items recalled")
            let none = try await bench.deliveries.recall(
                LostClaims(before: bench.request(home), since: nil)
            )
            try equal(none, 0, "deliveries recalled")
        },
        Case("a repeated release returns `done`") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            for _ in 0..<2 {
                let result = try await bench.watches.release([lease.ref])
                try equal(result, [.done], "release")
            }
            _ = try await bench.take(key)
        },
        Case("each commit of a batch has its own result, in order") { bench in
            let keys = (0..<3).map { bench.key("\($0)") }
            let home = bench.partition(of: keys[0])
            for key in keys { try await bench.enqueue(key) }
            let leases = try await bench.claim(in: home).leases.sorted {
                $0.item.key.source.description < $1.item.key.source.description
            }
            try equal(leases.map(\.item.key), keys, "claimed")
            _ = try await bench.watches.cancel(keys[1])
            let commits = leases.map { bench.poll($0, .next(after: .seconds(9)), status: "failed") }
            let results = try await bench.watches.commit(commits)
            try equal(results, [.done, .leaseLost, .done], "results")
            let statuses = try await bench.watches.stats()
            try equal(statuses.pending, 2, "pending")
            try equal(statuses.outbox, 3, "two changes and one cancellation")
        },
        Case("empty batches of commits and releases have no results") { bench in
            try equal(try await bench.watches.commit([]), [], "commits")
            try equal(try await bench.watches.release([]), [], "releases")
        },
    ]
}
