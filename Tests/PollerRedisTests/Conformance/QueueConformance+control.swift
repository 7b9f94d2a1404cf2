import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Control of lanes by operators.
extension QueueConformance {
    static let control: [ConformanceCase] = [
        Case("a paused lane grants no leases, not even of urgent items") { bench in
            let keys = bench.keys(0..<3, "r")
            try await bench.enqueueRest(keys)
            try await bench.enqueue(bench.key("u"))
            let home = bench.partition(of: keys[0])
            let lease = try await bench.takeOne(in: home)
            try await bench.harness.lanes.pause(keys[0].lane)
            let paused = try await bench.claim(in: home)
            try equal(paused.leases.count, 0, "leases while paused")
            try equal(paused.nextReady, lease.endsAt, "next ready: the end of the lease")
            try equal(try await bench.report(keys[0]).isPaused, true, "paused")
            // Work in flight continues, and new work is accepted.
            try equal(
                try await bench.commit(lease, .next(after: .zero), status: "pending"),
                .done,
                "a commit"
            )
            try equal(try await bench.watches.hint(keys[1]), true, "a hint")
            try await bench.enqueue(bench.key("late"))
            let still = try await bench.claim(in: home)
            try equal(still.leases.count, 0, "leases while paused")
            try equal(still.nextReady, nil, "next ready of a paused lane")
            try await bench.harness.lanes.pause(keys[0].lane)
            try await bench.harness.lanes.resume(keys[0].lane)
            try equal(try await bench.claim(in: home).leases.count, 5, "leases afterwards")
        },
        Case("pausing or resuming a lane returns its previous holds") { bench in
            let lanes = bench.harness.lanes
            let keys = bench.keys(0..<3)
            let none = LaneHold(nil)
            try equal(try await lanes.pause(keys[0].lane), none, "before any hold")
            let paused = LaneHold(try await bench.report(keys[0]))
            try equal(paused.isPaused, true, "paused")
            try equal(try await lanes.pause(keys[0].lane), paused, "a second pause")
            try equal(try await lanes.resume(keys[0].lane), paused, "resumed")
            try await bench.enqueue(keys)
            try await bench.attempt(keys[0], .hold(.seconds(60)))
            let held = LaneHold(try await bench.report(keys[0]))
            try equal(held.heldUntil != nil, true, "held")
            try equal(try await lanes.resume(keys[0].lane), held, "resumed from a hold")
            try equal(try await lanes.resume(keys[0].lane), none, "resumed again")
        },
        Case("a paused lane does not delay other lanes") { bench in
            let accounts = bench.accounts(2)
            for account in accounts {
                try await bench.enqueue(bench.keys(0..<3, account: account))
            }
            let paused = bench.key("0", account: accounts[0])
            try await bench.harness.lanes.pause(paused.lane)
            let claim = try await bench.claim(in: bench.partition(of: paused))
            try equal(claim.leases.count, 3, "leases")
            try bench.expect(
                claim.leases.allSatisfy { $0.lane != paused.lane },
                "an item of the paused lane was claimed"
            )
        },
        Case("an item of a paused lane waits after its lease has expired") { bench in
            let key = try await bench.enqueued("1")
            _ = try await bench.take(key)
            try await bench.harness.lanes.pause(key.lane)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let claim = try await bench.claim(in: bench.partition(of: key))
            try equal(claim.recovered, 1, "recovered")
            try equal(claim.leases.count, 0, "leases")
            try equal(try await bench.report(key).inFlight, 0, "in flight")
            try await bench.harness.lanes.resume(key.lane)
            _ = try await bench.take(key)
        },
        Case("a lane stays paused and limited while it is empty") { bench in
            let key = bench.key("1")
            let own = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            try await bench.harness.lanes.pause(key.lane)
            try await bench.harness.lanes.limit(key.lane, to: own)
            try equal(try await bench.report(key).waiting, 0, "waiting")
            let keys = try await bench.enqueued(0..<3)
            for key in keys { _ = try await bench.watches.cancel(key) }
            try await bench.enqueue(keys)
            let home = bench.partition(of: key)
            try equal(try await bench.claim(in: home).leases.count, 0, "leases")
            try await bench.harness.lanes.resume(key.lane)
            try equal(try await bench.claim(in: home).leases.count, 1, "leases")
        },
        Case("a lane's own limit applies from the next claim until it is removed") { bench in
            let lanes = bench.harness.lanes
            let keys = try await bench.enqueued(0..<30)
            let home = bench.partition(of: keys[0])
            let lane = keys[0].lane
            let narrow = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 2)
            let wide = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 7)
            try await lanes.limit(lane, to: narrow)
            var counts = [try await bench.claim(in: home, limit: 20).leases.count]
            try await lanes.limit(lane, to: wide)
            try equal(try await bench.report(keys[0]).limit, wide, "the reported limit")
            counts.append(try await bench.claim(in: home, limit: 20).leases.count)
            try await lanes.limit(lane, to: narrow)
            counts.append(try await bench.claim(in: home, limit: 20).leases.count)
            try await lanes.limit(lane, to: nil)
            try equal(try await bench.report(keys[0]).limit, nil, "the reported limit")
            counts.append(try await bench.claim(in: home, limit: 20).leases.count)
            try equal(counts, [2, 5, 0, 20], "leases of each claim")
        },
        Case("a conditional limit replaces only the version that it names") { bench in
            let lanes = bench.harness.lanes
            let lane = bench.key("1").lane
            let none = LaneLimitVersion(nil)
            // Rates that are rounded when they are read back, and rates that are not.
            for rate in [3, 0.0001, 0.333, 70_000, 0] {
                let first = LaneLimit(ratePerSecond: rate, burst: 2, inFlightMax: 9)
                let second = LaneLimit(ratePerSecond: 2 * rate + 5, burst: 2, inFlightMax: 9)
                let made = try await lanes.limit(lane, to: first, instead: none)
                try equal(made, true, "the first limit, of \(rate)/s")
                let again = try await lanes.limit(lane, to: second, instead: none)
                try equal(again, false, "another limit instead of none")
                let stored = try await lanes.lane(lane)?.limit
                let own = LaneLimitVersion(stored)
                let replaced = try await lanes.limit(lane, to: second, instead: own)
                try equal(replaced, true, "a limit instead of \(own)")
                let late = try await lanes.limit(lane, to: nil, instead: own)
                try equal(late, false, "no limit instead of one that was replaced")
                try await lanes.limit(lane, to: nil)
            }
            try equal(try await lanes.lane(lane), nil, "the lane without a limit")
        },
        Case("a lane's own rate applies from the next claim") { bench in
            let keys = try await bench.enqueued(0..<30)
            let home = bench.partition(of: keys[0])
            let own = LaneLimit(ratePerSecond: 10, burst: 2, inFlightMax: 1000)
            try await bench.harness.lanes.limit(keys[0].lane, to: own)
            let first = try await bench.claim(in: home)
            try equal(first.leases.count, 2, "the burst")
            try equal(first.nextReady, first.now + .milliseconds(100), "next ready")
            try await bench.advance(ms: 100)
            try equal(try await bench.claim(in: home).leases.count, 1, "one more")
        },
        Case("the limit of one lane does not apply to another") { bench in
            let accounts = bench.accounts(2)
            for account in accounts {
                try await bench.enqueue(bench.keys(0..<5, account: account))
            }
            let narrow = bench.key("0", account: accounts[0])
            let own = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            try await bench.harness.lanes.limit(narrow.lane, to: own)
            let claim = try await bench.claim(in: bench.partition(of: narrow))
            try equal(claim.leases.count, 6, "leases")
        },
        Case("a wake comes when a paused lane is resumed and when a limit is raised") { bench in
            let key = bench.key("1")
            let lanes = bench.harness.lanes
            let home = bench.partition(of: key)
            try await bench.enqueue(bench.keys(1..<4))
            let resumed = bench.watches.wakes()
            try await bench.isNotified(home, from: resumed, "a wake after the resume") {
                try await lanes.pause(key.lane)
                _ = try await bench.claim(in: home, limit: 1)
                try await lanes.resume(key.lane)
            }
            let narrow = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            let raised = bench.watches.wakes()
            try await bench.isNotified(home, from: raised, "a wake after the limit was raised") {
                try await lanes.limit(key.lane, to: narrow)
                for lease in try await bench.claim(in: home).leases {
                    _ = try await bench.watches.release([lease.ref])
                }
                _ = try await bench.claim(in: home)
                try await lanes.limit(key.lane, to: .unlimited)
            }
        },
        Case("a report has the counts and times of a lane") { bench in
            let keys = try await bench.enqueued(0..<5)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home, limit: 3).leases
            _ = try await bench.commit(leases[0], .next(after: .seconds(60)))
            try await bench.advance(ms: 250)
            let report = try await bench.report(keys[0])
            let wanted = LaneReport(
                lane: keys[0].lane,
                partition: home,
                waiting: 3,
                overdue: 2,
                oldestDue: leases[0].claimedAt,
                inFlight: 2,
                limit: nil,
                isPaused: false,
                heldUntil: nil,
                factor: 1,
                failures: 0,
                now: leases[0].claimedAt + .milliseconds(250)
            )
            try equal(report, wanted, "the report")
        },
        Case("a report has the earliest start that a lane's rate and holds allow") { bench in
            let keys = try await bench.enqueued(0..<5)
            try equal(try await bench.report(keys[0]).notBefore, nil, "before any claim")
            let own = LaneLimit(ratePerSecond: 10, burst: 2, inFlightMax: 1000)
            try await bench.harness.lanes.limit(keys[0].lane, to: own)
            let home = bench.partition(of: keys[0])
            let claim = try await bench.claim(in: home)
            let free = claim.now + .milliseconds(100)
            try equal(try await bench.report(keys[0]).notBefore, free, "after a claim at its rate")
            _ = try await bench.commit(
                claim.leases[0],
                .next(after: .seconds(60)),
                signal: .hold(.seconds(5))
            )
            let held = claim.now + .seconds(5)
            try equal(try await bench.report(keys[0]).notBefore, held, "during a hold")
            try await bench.advance(ms: 6000)
            try equal(try await bench.report(keys[0]).notBefore, held, "after the hold")
        },
        Case("an empty lane without settings does not exist") { bench in
            let key = bench.key("1")
            let lanes = bench.harness.lanes
            try equal(try await lanes.lane(key.lane), nil, "an unknown lane")
            try await lanes.limit(key.lane, to: nil)
            try await lanes.resume(key.lane)
            try await bench.enqueue(key)
            try equal(try await bench.report(key).waiting, 1, "waiting")
            _ = try await bench.watches.cancel(key)
            try equal(try await lanes.lane(key.lane), nil, "an empty lane")
            try equal(try await lanes.lanes(limit: 9, cursor: nil).items, [], "all lanes")
        },
        Case("every lane is listed once, the longest overdue of a partition first") { bench in
            let lanes = bench.harness.lanes
            let keys = (0..<12).map { bench.key("1", account: "acct_\($0)") }
            for key in keys {
                try await bench.enqueue(key)
                try await bench.advance(ms: 10)
            }
            let idle = bench.key("1", account: "acct_idle")
            try await lanes.pause(idle.lane)
            for limit in [1, 5, 100] {
                var seen: [LaneReport] = []
                var cursor: String?
                repeat {
                    let page = try await lanes.lanes(limit: limit, cursor: cursor)
                    try bench.expect(page.items.count <= limit, "\(page.items.count) lanes")
                    seen += page.items
                    cursor = page.next
                } while cursor != nil
                try equal(seen.count, 13, "lanes in pages of \(limit)")
                let names = Set(seen.map(\.lane))
                try equal(names, Set((keys + [idle]).map(\.lane)), "lanes")
                for (one, next) in zip(seen, seen.dropFirst()) where one.partition == next.partition
                {
                    let due = [one, next].map { $0.oldestDue?.ms ?? .max }
                    try bench.expect(
                        due[0] <= due[1],
                        "\(next.lane) is longer overdue than the lane before"
                    )
                }
                let partitions = seen.map(\.partition)
                let turns = partitions.reduce(into: [Int]()) { turns, partition in
                    if turns.last != partition { turns.append(partition) }
                }
                try equal(
                    turns.count,
                    Set(partitions).count,
                    "partitions, each without interruption"
                )
            }
        },
    ]
}
