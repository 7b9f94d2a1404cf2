import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// The server's clock is set back or forward, by hand or by a failover to another machine.
extension QueueConformance {
    private static let hour = Duration.seconds(3600)
    private static let limit = LaneLimit(ratePerSecond: 10, burst: 1, inFlightMax: 8)

    static let clocks: [ConformanceCase] = [
        Case("new and hinted watches are claimed after the clock is set back") { bench in
            let keys = bench.keys(0..<2)
            let home = bench.partition(of: keys[0])
            try await bench.enqueue(keys[0])
            let served = try await bench.claim(in: home, lane: limit).leases
            _ = try await bench.commit(try bench.some(served.first, "a lease"), .next(after: hour))
            try await bench.harness.step(by: .zero - hour)
            try await bench.enqueue(keys[1])
            try await bench.advance(ms: 100)
            let new = try await bench.claim(in: home, lane: limit)
            try equal(new.leases.map(\.item.key), [keys[1]], "after the step")
            _ = try await bench.watches.hint(keys[0])
            try await bench.advance(ms: 100)
            let hinted = try await bench.claim(in: home, lane: limit)
            try equal(hinted.leases.map(\.item.key), [keys[0]], "after the hint")
        },
        Case("a waiting watch is due after the same span when the clock is set back") { bench in
            let key = try await bench.enqueued("a")
            try await bench.handle(key, .next(after: .seconds(10)))
            try await bench.harness.step(by: .zero - hour)
            let early = try await bench.claim(in: bench.partition(of: key))
            try equal(early.leases.count, 0, "leases at once")
            try equal(early.nextReady, early.now + .seconds(10), "next ready")
            let waiting = try await bench.waiting(key)
            try equal(waiting.due, early.now + .seconds(10), "due")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.nextPollAt, early.now + .seconds(10), "next poll")
            try await bench.advance(ms: 10_000)
            let late = try await bench.take(key)
            try equal(late.due, late.claimedAt, "due at the claim")
        },
        Case("a lease ends after the same span when the clock is set back") { bench in
            let key = try await bench.enqueued("a")
            let lease = try await bench.take(key)
            try await bench.harness.step(by: .zero - hour)
            try equal(try await bench.due(key), [], "due during the lease")
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let claim = try await bench.claim(in: bench.partition(of: key))
            try equal(claim.recovered, 1, "recovered leases")
            let stale = try await bench.commit(lease, .next(after: .zero))
            try equal(stale, .leaseLost, "the commit under the old lease")
        },
        Case("a hold and a slowdown last the same span when the clock is set back") { bench in
            let keys = try await bench.enqueued(0..<2)
            try await bench.attempt(keys[0], .slow(.seconds(5)))
            try await bench.harness.step(by: .zero - hour)
            let home = bench.partition(of: keys[0])
            let held = try await bench.claim(in: home)
            try equal(held.leases.count, 0, "leases while held")
            let report = try await bench.report(keys[0])
            try equal(report.heldUntil, held.now + .seconds(5), "held until")
            try await bench.advance(ms: 5000)
            try equal(try await bench.claim(in: home).leases.count, 2, "leases after the hold")
        },
        Case("watches stay due when the clock is set back again and again") { bench in
            let key = try await bench.enqueued("a")
            for _ in 0..<5 {
                try await bench.handle(key, .next(after: .seconds(1)))
                try await bench.harness.step(by: .seconds(-600))
                try equal(try await bench.due(key), [], "due at once")
                try await bench.advance(ms: 1000)
            }
            _ = try await bench.take(key)
        },
        Case("a clock set forward purges nothing") { bench in
            let day = Duration.seconds(86_400)
            let key = bench.key("a")
            let home = bench.partition(of: key)
            try await bench.enqueue(key)
            try await bench.handle(key, .close(.settled), status: "consumed")
            try await bench.harness.step(by: day * 40)
            _ = try await bench.watches.purge(partition: home, retention: day * 30)
            _ = try await bench.snapshot(key)
            _ = try await bench.claim(in: home)
            _ = try await bench.watches.purge(partition: home, retention: day * 30)
            _ = try await bench.snapshot(key)
            try await bench.harness.advance(by: day * 31)
            _ = try await bench.watches.purge(partition: home, retention: day * 30)
            let gone = try await bench.watches.snapshot(of: key)
            try equal(gone, nil, "the watch after its retention")
        },
        Case("a clock set forward expires no watch") { bench in
            let key = bench.key("a")
            try await bench.enqueue(key, timeout: hour)
            try await bench.handle(key, .next(after: .seconds(60)))
            try await bench.advance(ms: 600_000)
            let early = try await bench.snapshot(key).watch.deadline
            try await bench.harness.step(by: hour * 24)
            let expired = try await bench.expire(key)
            try equal(expired, .done, "the commit that expires it")
            let open = try await bench.snapshot(key)
            try equal(open.closed, nil, "closed")
            try equal(open.watch.seq, 0, "events")
            let later = open.watch.deadline - early
            try bench.expect(abs((later - hour * 24).ms) < 1000, "deadline later by \(later)")
            try await bench.harness.advance(by: hour)
            _ = try await bench.expire(key)
            try equal(try await bench.snapshot(key).closed, .expired, "closed after the deadline")
        },
        Case("deadlines and retention hold after the clock is set forward and back") { bench in
            let key = bench.key("a")
            let home = bench.partition(of: key)
            _ = try await bench.claim(in: home)
            try await bench.harness.step(by: hour * 8760)
            _ = try await bench.claim(in: home)
            try await bench.harness.advance(by: hour)
            _ = try await bench.claim(in: home)
            try await bench.harness.step(by: .zero - hour * 8760)
            _ = try await bench.claim(in: home)
            try await bench.enqueue(key, timeout: hour)
            try await bench.harness.advance(by: hour)
            _ = try await bench.expire(key)
            try equal(try await bench.snapshot(key).closed, .expired, "closed after the deadline")
            try await bench.harness.advance(by: hour * 24 * 31)
            _ = try await bench.watches.purge(partition: home, retention: hour * 24 * 30)
            let gone = try await bench.watches.snapshot(of: key)
            try equal(gone, nil, "the watch after its retention")
        },
        Case("a watch enqueued while the clock is behind keeps its span and gets no more") {
            bench in
            let key = bench.key("a")
            _ = try await bench.claim(in: bench.partition(of: key))
            try await bench.harness.step(by: .zero - hour * 720)
            try await bench.enqueue(key, timeout: hour)
            try await bench.handle(key, .next(after: .seconds(60)))
            try await bench.harness.advance(by: hour / 2)
            try await bench.harness.step(by: hour * 720)
            _ = try await bench.expire(key)
            let open = try await bench.snapshot(key)
            let now = try await bench.report(key).now
            let left = open.watch.deadline - now
            try bench.expect(left <= hour, "the watch has \(left) left")
            try await bench.harness.advance(by: hour)
            _ = try await bench.expire(key)
            try equal(try await bench.snapshot(key).closed, .expired, "closed after the deadline")
        },
        Case("a jump of the clock does not count as time in which an endpoint failed") { bench in
            let mark = try await bench.marked("a")
            let lease = try await bench.take(mark)
            let failed = Commit(
                ref: lease.ref,
                verdict: .next(after: .zero),
                change: DeliveryChange(state: lease.item.state),
                signal: .failing
            )
            _ = try await bench.deliveries.commit([failed])
            try await bench.advance(ms: 1000)
            try await bench.harness.step(by: hour * 240)
            let again = try await bench.take(mark)
            let outage = try bench.some(again.outage, "outage")
            let span = again.claimedAt - outage.since
            try bench.expect(span < .seconds(10), "the endpoint has failed for \(span)")
        },
    ]
}

extension ConformanceBench {
    /// Claims a watch, whose lease is the only one, and closes it as expired.
    fileprivate func expire(_ key: WatchKey) async throws -> CommitResult {
        let lease = try await take(key)
        let event = Event(
            lease.item,
            status: lease.item.state.status,
            final: true,
            closed: .expired,
            polledAt: lease.claimedAt
        )
        let change = WatchChange(state: lease.item.state, event: event)
        let commit = Commit(ref: lease.ref, verdict: .close(.expired), change: change)
        return try some(try await watches.commit([commit]).first, "a result of commit")
    }
}
