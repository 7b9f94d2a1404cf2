import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let deliveries: [ConformanceCase] = [
        Case("a mark creates a delivery that is due now and has no progress") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            try equal(
                lease.item,
                Delivery(
                    endpoint: mark.endpoint,
                    url: mark.url,
                    watch: mark.watch,
                    state: DeliveryState()
                ),
                "the delivery"
            )
            try equal(lease.lane, LaneID(endpoint: mark.endpoint), "lane")
            try equal(lease.ref.id, Delivery.id(endpoint: mark.endpoint, watch: mark.watch), "id")
            try equal(lease.due, lease.claimedAt, "due")
        },
        Case("repeated marks create one delivery") { bench in
            let mark = try bench.mark("1")
            for _ in 0..<3 { try await bench.deliveries.mark([mark, mark]) }
            _ = try await bench.take(mark)
            try equal(try await bench.deliveries.stats().leased, 1, "leased")
            try equal(try await bench.deliveries.stats().pending, 0, "pending")
        },
        Case("a mark resumes a resting delivery at its cursor") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            let state = DeliveryState(cursor: 4, failures: 0, attempts: 6)
            try equal(try await bench.commit(lease, .rest, state), .done, "commit")
            try equal(try await bench.claim(mark).leases.count, 0, "leases while it rests")
            try equal(try await bench.deliveries.stats().closed, 1, "closed")
            try await bench.deliveries.mark([mark])
            try equal(try await bench.take(mark).item.state, state, "state")
        },
        Case("the next lease has the whole stored state of a delivery") { bench in
            let mark = try await bench.marked("1")
            let now = try await bench.take(mark)
            let state = DeliveryState(
                cursor: 9,
                failures: 2,
                attempts: 30,
                retryAt: now.claimedAt,
                failedSince: now.claimedAt + .seconds(-60),
                escalated: 8,
                dead: [3, 5],
                again: [5],
                cursorDigest: "aB-_09",
                pendingFallback: [8, 9]
            )
            _ = try await bench.commit(now, .next(after: .zero), state)
            let next = try await bench.take(mark)
            try equal(next.item.state, state, "state")
            let plain = DeliveryState(cursor: 9, attempts: 30, cursorDigest: "aB-_09")
            _ = try await bench.commit(next, .rest, plain)
            try await bench.deliveries.mark([mark])
            try equal(try await bench.take(mark).item.state, plain, "without an outage")
        },
        Case("a mark during the lease overrides rest") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            try await bench.deliveries.mark([mark])
            let state = DeliveryState(cursor: 1, attempts: 1)
            try equal(try await bench.commit(lease, .rest, state), .done, "commit")
            let again = try await bench.take(mark)
            try equal(again.item.state, state, "state")
            _ = try await bench.commit(again, .rest, state)
            try equal(try await bench.claim(mark).leases.count, 0, "leases after one more commit")
        },
        Case("a mark makes a waiting delivery due now") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            let state = DeliveryState(cursor: 2, failures: 1, attempts: 3)
            _ = try await bench.commit(lease, .next(after: .seconds(1800)), state)
            try equal(try await bench.claim(mark).leases.count, 0, "leases while it waits")
            try await bench.deliveries.mark([mark])
            try equal(try await bench.take(mark).item.state, state, "state")
        },
        Case("a delivery is due again when its wait is over") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            let state = DeliveryState(failures: 1, attempts: 1)
            _ = try await bench.commit(lease, .next(after: .seconds(5)), state)
            try await bench.advance(ms: 4999)
            try equal(try await bench.claim(mark).leases.count, 0, "1 ms early")
            try await bench.advance(ms: 1)
            try equal(try await bench.take(mark).item.state, state, "state")
        },
        Case("a stale commit of a delivery is rejected, a repeated one is accepted") { bench in
            let mark = try await bench.marked("1")
            let old = try await bench.take(mark)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let new = try await bench.take(mark, owner: ConformanceBench.bert)
            let stale = try await bench.commit(old, .rest, DeliveryState(cursor: 9))
            try equal(stale, .leaseLost, "the stale commit")
            for _ in 0..<2 {
                let result = try await bench.commit(new, .rest, DeliveryState(cursor: 1))
                try equal(result, .done, "the valid commit")
            }
            try await bench.deliveries.mark([mark])
            try equal(try await bench.take(mark).item.state.cursor, 1, "cursor")
        },
        Case("a released delivery keeps its due time") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            try equal(try await bench.deliveries.release([lease.ref]), [.done], "release")
            try equal(try await bench.take(mark).due, lease.due, "due")
        },
        Case("each endpoint is a lane, and a slow one does not delay another") { bench in
            let one = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            let slow = try (0..<20).map { try bench.mark("\($0)", "slow.example") }
            let fast = try bench.mark("1", "fast.example")
            try await bench.deliveries.mark(slow)
            try await bench.advance(ms: 5)
            try await bench.deliveries.mark([fast])
            var leases: [Lease<Delivery>] = []
            for partition in 0..<bench.deliveries.partitions {
                leases += try await bench.deliveries.claim(
                    ClaimRequest(
                        partition: partition,
                        limit: 10,
                        owner: ConformanceBench.anna,
                        lease: ConformanceBench.lease,
                        lane: one
                    )
                ).leases
            }
            let endpoints = leases.map(\.item.endpoint)
            try equal(endpoints.count, 2, "leases")
            try equal(Set(endpoints), [slow[0].endpoint, fast.endpoint], "endpoints")
        },
        Case("the same URL and source under two accounts are two deliveries") { bench in
            let url = try NotifyURL("https://a.example/hook")
            let marks = ["acct_a", "acct_b"].map {
                DeliveryMark(url: url, watch: bench.key("1", account: $0))
            }
            try await bench.deliveries.mark(marks)
            let counts = try await bench.deliveries.stats()
            try equal([counts.pending, counts.overdue, counts.lanes], [2, 2, 2], "counts")
        },
        Case("a delivery that rested for longer than the retention is purged") { bench in
            let rested = try bench.mark("1")
            let waiting = try bench.mark("2")
            try await bench.deliveries.mark([rested])
            _ = try await bench.commit(try await bench.take(rested), .rest, DeliveryState())
            try await bench.deliveries.mark([waiting])
            try await bench.advance(ms: 2000)
            for partition in 0..<bench.deliveries.partitions {
                while try await bench.deliveries.purge(
                    partition: partition,
                    retention: .seconds(1)
                ) {}
            }
            let stats = try await bench.deliveries.stats()
            try equal([stats.pending, stats.overdue, stats.closed], [1, 1, 0], "counts")
        },
        Case("an old delivery is purged unless it is kept, and checked again a day later") {
            bench in
            let marks = [try bench.mark("1"), try bench.mark("2")]
            for mark in marks {
                try await bench.deliveries.mark([mark])
                _ = try await bench.commit(try await bench.take(mark), .rest, DeliveryState())
            }
            try await bench.advance(ms: 2000)
            let kept = marks[1].watch
            try equal(
                try await bench.purgeDeliveries(keeping: [kept]),
                Set(marks.map(\.watch)),
                "the first check"
            )
            try equal(try await bench.deliveries.stats().closed, 1, "those that rest")
            try equal(try await bench.purgeDeliveries(keeping: []), [], "a check at once")
            try await bench.advance(ms: 86_400_000)
            try equal(try await bench.purgeDeliveries(keeping: []), [kept], "the next check")
            try equal(try await bench.deliveries.stats().closed, 0, "those that rest then")
        },
        Case("the watermark of complete marks is valid only in the history that wrote it") {
            bench in
            let first = try await bench.deliveries.watermark(partition: 1)
            try equal(first.noted, nil, "the watermark of a new store")
            try bench.expect(!first.history.isEmpty, "the store names no history")
            let instant = Timestamp(ms: 1_700_000_000_000)
            try await bench.deliveries.note(partition: 1, markedBefore: instant, in: "abc")
            try equal(
                try await bench.deliveries.watermark(partition: 1).noted,
                nil,
                "the watermark of another history"
            )
            try await bench.deliveries.note(partition: 1, markedBefore: instant, in: first.history)
            try equal(
                try await bench.deliveries.watermark(partition: 1),
                MarkWatermark(history: first.history, noted: first.history, markedBefore: instant),
                "the watermark of this history"
            )
            let other = try await bench.deliveries.watermark(partition: 2)
            try equal(other.noted, nil, "the watermark of another partition")
        },
        Case("a wake comes when a delivery is marked") { bench in
            let mark = try bench.mark("1")
            let home = bench.harness.partition(of: LaneID(endpoint: mark.endpoint))
            let stream = bench.deliveries.wakes()
            try await bench.isNotified(home, from: stream, "a wake") {
                _ = try await bench.claim(mark)
                for lease in try await bench.claim(mark).leases {
                    _ = try await bench.commit(lease, .rest, DeliveryState())
                }
                try await bench.deliveries.mark([mark])
            }
        },
    ]
}

extension ConformanceBench {
    /// Purges deliveries that have rested for a second, and returns the watches that decided about them.
    fileprivate func purgeDeliveries(keeping kept: Set<WatchKey>) async throws -> Set<WatchKey> {
        var decided: Set<WatchKey> = []
        for partition in 0..<deliveries.partitions {
            _ = try await deliveries.purge(
                partition: partition,
                retention: .seconds(1),
                keeping: { watch in
                    decided.insert(watch)
                    return kept.contains(watch)
                }
            )
        }
        return decided
    }
}
