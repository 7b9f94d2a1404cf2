import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Lanes take turns, and a claim is shared among them.
extension QueueConformance {
    static let turns: [ConformanceCase] = [
        Case("the slots of a claim are shared equally among ready lanes") { bench in
            let home = try await bench.fill(lanes: 4, apartMs: 50)
            for _ in 0..<4 {
                let leases = try await bench.claim(in: home, limit: 20).leases
                let counts = Dictionary(grouping: leases, by: \.lane).mapValues(\.count)
                try equal(counts.values.sorted(), [5, 5, 5, 5], "leases of each lane")
            }
        },
        Case("slots that a lane cannot use go to other lanes") { bench in
            let accounts = bench.accounts(3)
            for account in accounts {
                try await bench.enqueue(bench.keys(0..<40, account: account))
            }
            let narrow = bench.key("0", account: accounts[1])
            let own = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 2)
            try await bench.harness.lanes.limit(narrow.lane, to: own)
            let leases = try await bench.claim(in: bench.partition(of: narrow), limit: 30).leases
            try equal(leases.count, 30, "leases")
            try equal(leases.count { $0.lane == narrow.lane }, 2, "leases of the narrow lane")
        },
        Case("a served lane goes behind the waiting lanes") { bench in
            let home = try await bench.fill(lanes: 4, apartMs: 50)
            for round in 0..<5 {
                var served: [LaneID] = []
                for _ in 0..<4 {
                    served += try await bench.claim(in: home, limit: 1).leases.map(\.lane)
                    try await bench.advance(ms: round)
                }
                try equal(served.count, 4, "leases in round \(round)")
                try equal(Set(served).count, 4, "lanes served in round \(round)")
            }
        },
        Case("a commit frees a slot of a lane, but does not move it forward") { bench in
            let home = try await bench.fill(lanes: 3, apartMs: 1000)
            try await bench.expectTurns(of: 3, in: home, .unlimited)
        },
        Case("a full lane with a freed slot waits for its turn") { bench in
            let home = try await bench.fill(lanes: 3, apartMs: 1000)
            let one = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            try await bench.expectTurns(of: 3, in: home, one)
        },
        Case("the end of a claim's look-ahead does not delay a lane") { bench in
            let limit = LaneLimit(ratePerSecond: 10, burst: 1, inFlightMax: 1000)
            let keys = try await bench.enqueued(0..<3)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let late = Verdict.next(after: .milliseconds(500))
            _ = try await bench.commit(leases[0], late, isUrgent: true)
            // Two leases have expired: both items are due, and only one is claimed.
            let claim = try await bench.claim(
                in: home,
                limit: 1,
                lane: limit,
                ahead: .milliseconds(600)
            )
            try equal(claim.leases.count, 1, "leases")
            try equal(claim.nextReady, claim.now + .milliseconds(100), "next ready")
        },
        Case("lanes with normal watches take turns, too") { bench in
            let accounts = bench.accounts(3)
            let rest = accounts.flatMap { bench.keys(0..<20, "r", account: $0) }
            try await bench.enqueueRest(rest)
            let home = bench.partition(of: rest[0])
            for round in 0..<4 {
                var served: Set<LaneID> = []
                for _ in accounts {
                    let claim = try await bench.claim(in: home, limit: 1)
                    served.formUnion(claim.leases.map(\.lane))
                    try await bench.advance(ms: 1)
                }
                try equal(served.count, 3, "lanes served in round \(round)")
            }
        },
        Case("a small lane is served next to a lane that is long overdue") { bench in
            let accounts = bench.accounts(2)
            try await bench.enqueue(bench.keys(0..<200, account: accounts[0]))
            try await bench.advance(ms: 5000)
            let small = bench.key("small", account: accounts[1])
            let home = bench.partition(of: small)
            for _ in 0..<10 {
                try await bench.enqueue(small)
                let leases = try await bench.claim(in: home, limit: 4).leases
                let own = leases.first { $0.item.key == small }
                let lease = try bench.some(own, "a lease of the small lane in the next claim")
                _ = try await bench.commit(lease, .close(.settled))
                try await bench.advance(ms: 3)
            }
        },
    ]

    /// Items claimed before they may start.
    static let ahead: [ConformanceCase] = [
        Case("without look-ahead an item starts when it is claimed") { bench in
            let key = try await bench.enqueued("1")
            try await bench.advance(ms: 70)
            let lease = try await bench.take(key)
            try equal(lease.startsAt, lease.claimedAt, "start")
            try equal(lease.due, lease.claimedAt + .milliseconds(-70), "due")
        },
        Case("an item due within the look-ahead is claimed and starts when it is due") { bench in
            let key = try await bench.enqueued("1")
            let first = try await bench.take(key)
            _ = try await bench.commit(first, .next(after: .milliseconds(15)))
            let home = bench.partition(of: key)
            let short = try await bench.claim(in: home, ahead: .milliseconds(14))
            try equal(short.leases.count, 0, "leases 14 ms ahead")
            try equal(short.nextReady, short.now + .milliseconds(15), "next ready")
            let claim = try await bench.claim(in: home, ahead: .milliseconds(15))
            let lease = try bench.some(claim.leases.first, "a lease 15 ms ahead")
            try equal(lease.startsAt, claim.now + .milliseconds(15), "start")
            try equal(lease.due, lease.startsAt, "due")
            try equal(lease.claimedAt, claim.now, "claimed at")
            try equal(lease.endsAt, claim.now + ConformanceBench.lease, "end")
        },
        Case("an item released before its start keeps its due time") { bench in
            let key = try await bench.enqueued("1")
            let first = try await bench.take(key)
            _ = try await bench.commit(first, .next(after: .milliseconds(15)))
            let home = bench.partition(of: key)
            let claim = try await bench.claim(in: home, ahead: .milliseconds(20))
            let lease = try bench.some(claim.leases.first, "a lease")
            _ = try await bench.watches.release([lease.ref])
            try equal(try await bench.waiting(key).due, lease.due, "due")
            try equal(try await bench.due(key), [], "due now")
        },
        Case("starts within the look-ahead are spaced as the rate allows") { bench in
            let limit = LaneLimit(ratePerSecond: 100, burst: 1, inFlightMax: 1000)
            let keys = try await bench.enqueued(0..<20)
            let home = bench.partition(of: keys[0])
            let claim = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(45))
            let starts = claim.leases.map { ($0.startsAt - claim.now).ms }
            try equal(starts, [0, 10, 20, 30, 40], "starts")
            try equal(claim.nextReady, claim.now + .milliseconds(50), "next ready")
            let again = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(45))
            try equal(again.leases.count, 0, "leases right after")
            try await bench.advance(ms: 25)
            let later = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(45))
            let more = later.leases.map { ($0.startsAt - claim.now).ms }
            try equal(more, [50, 60, 70], "starts of a claim 25 ms later")
        },
        Case("a burst starts at once, later starts of the look-ahead follow at the rate") {
            bench in
            let limit = LaneLimit(ratePerSecond: 50, burst: 3, inFlightMax: 1000)
            try await bench.enqueue(bench.keys(0..<20))
            let home = bench.partition(of: bench.key("0"))
            let claim = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(50))
            let starts = claim.leases.map { ($0.startsAt - claim.now).ms }
            try equal(starts, [0, 0, 0, 20, 40], "starts")
        },
        Case("the rate is charged when an item starts, not when it is claimed") { bench in
            let limit = LaneLimit(ratePerSecond: 100, burst: 1, inFlightMax: 1000)
            try await bench.enqueue(bench.keys(0..<3))
            let home = bench.partition(of: bench.key("0"))
            for (wait, lease) in zip([30, 31, 32], try await bench.claim(in: home).leases) {
                _ = try await bench.commit(lease, .next(after: .milliseconds(wait)))
            }
            let claim = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(45))
            let starts = claim.leases.map { ($0.startsAt - claim.now).ms }
            try equal(starts, [30, 40], "starts")
            try equal(claim.nextReady, claim.now + .milliseconds(50), "next ready")
        },
        Case("starts never exceed rate and burst in any window, with or without look-ahead") {
            bench in
            // An interval of 33⅓ ms: starts are whole milliseconds, never the earlier one.
            let limit = LaneLimit(ratePerSecond: 30, burst: 1, inFlightMax: 1000)
            try await bench.enqueue(bench.keys(0..<40))
            let home = bench.partition(of: bench.key("0"))
            var starts: [Timestamp] = []
            for step in 0..<120 {
                let ahead = Duration.milliseconds([0, 35, 200, 5][step % 4])
                let claim = try await bench.claim(in: home, limit: 6, lane: limit, ahead: ahead)
                starts += claim.leases.map(\.startsAt)
                for lease in claim.leases {
                    try bench.expect(
                        claim.now <= lease.startsAt && lease.startsAt <= claim.now + ahead,
                        "a start at \(lease.startsAt), claimed at \(claim.now)"
                    )
                    _ = try await bench.commit(lease, .next(after: .zero))
                }
                try await bench.advance(ms: 13)
            }
            try bench.expectRate(starts, limit)
        },
        Case("a claim looks ahead to the end of a hold") { bench in
            let keys = try await bench.enqueued(0..<2)
            try await bench.attempt(keys[0], .hold(.milliseconds(30)))
            let home = bench.partition(of: keys[0])
            let early = try await bench.claim(in: home, ahead: .milliseconds(29))
            try equal(early.leases.count, 0, "leases 29 ms ahead")
            let claim = try await bench.claim(in: home, ahead: .milliseconds(30))
            try equal(
                claim.leases.map(\.startsAt),
                [claim.now + .milliseconds(30), claim.now + .milliseconds(30)],
                "starts"
            )
        },
        Case("due items are claimed before items that are due soon") { bench in
            let keys = try await bench.enqueued(0..<3)
            let home = bench.partition(of: keys[0])
            for (wait, lease) in zip([20, 0, 10], try await bench.claim(in: home).leases) {
                _ = try await bench.commit(lease, .next(after: .milliseconds(wait)))
            }
            let claim = try await bench.claim(in: home, limit: 2, ahead: .milliseconds(50))
            let starts = claim.leases.map { ($0.startsAt - claim.now).ms }
            try equal(starts, [0, 10], "starts")
        },
    ]
}

extension ConformanceBench {
    /// Enqueues 40 watches in each of several lanes of one partition, one lane after the other.
    fileprivate func fill(lanes: Int, apartMs: Int) async throws -> Int {
        let accounts = accounts(lanes)
        for account in accounts {
            try await enqueue(keys(0..<40, account: account))
            try await advance(ms: apartMs)
        }
        return partition(of: key("0", account: accounts[0]))
    }

    /// Fails unless each lane is served once in as many claims of one watch, which is polled.
    fileprivate func expectTurns(of lanes: Int, in home: Int, _ limit: LaneLimit) async throws {
        for round in 0..<6 {
            var served: Set<LaneID> = []
            for _ in 0..<lanes {
                for lease in try await claim(in: home, limit: 1, lane: limit).leases {
                    served.insert(lease.lane)
                    try await advance(ms: 1)
                    _ = try await commit(lease, .next(after: .seconds(60)))
                }
            }
            try equal(served.count, lanes, "lanes served in round \(round)")
        }
    }

    /// Fails if any window has more starts than rate and burst allow.
    func expectRate(_ starts: [Timestamp], _ limit: LaneLimit) throws {
        let starts = starts.sorted()
        for first in starts.indices {
            for last in first..<starts.count {
                let spanUs = (starts[last] - starts[first]).ms * 1000
                let allowed = Int64(limit.burst) + spanUs / Int64(limit.intervalUs)
                let count = Int64(last - first + 1)
                try expect(count <= allowed, "\(count) starts within \(spanUs) µs")
            }
        }
    }
}
