import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Two priorities: urgent before normal items, four to one.
extension QueueConformance {
    static let priorities: [ConformanceCase] = [
        Case("a new watch is claimed before watches that were already polled") { bench in
            let rest = bench.keys(0..<3, "r")
            try await bench.enqueueRest(rest)
            let new = try await bench.enqueued("u")
            let claim = try await bench.claim(in: bench.partition(of: new), limit: 1)
            try equal(claim.leases.map(\.item.key), [new], "the first claimed watch")
        },
        Case("an urgent commit puts a watch before normal ones, a normal commit does not") {
            bench in
            let keys = try await bench.enqueued(0..<3)
            let home = bench.partition(of: keys[0])
            for lease in try await bench.claim(in: home).leases {
                _ = try await bench.commit(
                    lease,
                    .next(after: .milliseconds(lease.item.key == keys[2] ? 2 : 1)),
                    isUrgent: lease.item.key == keys[2]
                )
            }
            let urgency = try await [
                bench.waiting(keys[0]).isUrgent, bench.waiting(keys[2]).isUrgent,
            ]
            try equal(urgency, [false, true], "urgency")
            try await bench.advance(ms: 2)
            let first = try await bench.claim(in: home, limit: 1).leases.map(\.item.key)
            try equal(first, [keys[2]], "the first claimed watch, though due last")
        },
        Case("a hint makes a watch urgent, and due now if it was not yet due") { bench in
            let keys = bench.keys(0..<2, "r")
            try await bench.enqueueRest(keys)
            let overdue = try await bench.waiting(keys[0])
            try equal(overdue.isUrgent, false, "urgency before the hint")
            _ = try await bench.watches.hint(keys[0])
            let hinted = try await bench.waiting(keys[0])
            try equal(hinted.isUrgent, true, "urgency of an overdue watch")
            try equal(hinted.due, overdue.due, "due time of an overdue watch")
            let claim = try await bench.claim(in: bench.partition(of: keys[1]))
            for lease in claim.leases {
                _ = try await bench.commit(lease, .next(after: .seconds(60)))
            }
            try await bench.advance(ms: 5)
            _ = try await bench.watches.hint(keys[1])
            let later = try await bench.waiting(keys[1])
            try equal(later.isUrgent, true, "urgency of a watch that was due later")
            try equal(later.due, claim.now + .milliseconds(5), "its due time")
        },
        Case("a join makes a watch urgent that was due later, and keeps an overdue one") { bench in
            let keys = bench.keys(0..<2, "r")
            try await bench.enqueueRest(keys)
            try await bench.enqueue(keys[0])
            let joined = try await bench.waiting(keys[0])
            try equal(joined.isUrgent, false, "urgency of an overdue watch")
            let home = bench.partition(of: keys[1])
            for lease in try await bench.claim(in: home).leases {
                _ = try await bench.commit(lease, .next(after: .seconds(60)))
            }
            let before = try await bench.waiting(keys[1])
            try equal(before.isUrgent, false, "urgency before")
            try await bench.enqueue(keys[1])
            let after = try await bench.waiting(keys[1])
            try equal(after.isUrgent, true, "urgency after")
            try equal(after.due, before.due + .seconds(-60), "due")
        },
        Case("a hint or a join during the lease makes the next poll urgent") { bench in
            let keys = try await bench.enqueued(0..<3)
            let leases = try await bench.claim(in: bench.partition(of: keys[0])).leases
            _ = try await bench.watches.hint(keys[0])
            try await bench.enqueue(keys[1])
            for lease in leases {
                _ = try await bench.commit(lease, .next(after: .seconds(60)))
            }
            var urgency: [Bool] = []
            for key in keys { urgency.append(try await bench.waiting(key).isUrgent) }
            try equal(urgency, [true, true, false], "urgency")
        },
        Case("released and recovered watches keep their urgency and due time") { bench in
            let keys = bench.keys(0..<2, "r")
            try await bench.enqueueRest(keys)
            let home = bench.partition(of: keys[0])
            let due = try await [bench.waiting(keys[0]).due, bench.waiting(keys[1]).due]
            let leases = try await bench.claim(in: home).leases
            let first = try bench.some(leases.first { $0.item.key == keys[0] }, "a lease")
            _ = try await bench.watches.release([first.ref])
            let released = try await bench.waiting(keys[0])
            try equal(released.isUrgent, false, "urgency of the released watch")
            try equal(released.due, due[0], "due time of the released watch")
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            _ = try await bench.harness.lanes.pause(keys[0].lane)
            try equal(try await bench.claim(in: home).recovered, 1, "recovered")
            let recovered = try await bench.waiting(keys[1])
            try equal(recovered.isUrgent, false, "urgency of the recovered watch")
            try equal(recovered.due, due[1], "due time of the recovered watch")
        },
        Case("a watch hinted during its lease is urgent after the lease ends") { bench in
            let keys = bench.keys(0..<2, "r")
            try await bench.enqueueRest(keys)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            let first = try bench.some(leases.first { $0.item.key == keys[0] }, "a lease")
            for key in keys { _ = try await bench.watches.hint(key) }
            _ = try await bench.watches.release([first.ref])
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            _ = try await bench.harness.lanes.pause(keys[0].lane)
            _ = try await bench.claim(in: home)
            for key in keys {
                let place = try await bench.waiting(key)
                try equal(place.isUrgent, true, "urgency of \(key.source)")
                let lease = leases.first { $0.item.key == key }
                try equal(place.due, try bench.some(lease, "a lease").due, "due")
            }
            // The hint has had its effect: the next lease is an ordinary one.
            try await bench.harness.lanes.resume(keys[0].lane)
            for lease in try await bench.claim(in: home).leases {
                _ = try await bench.commit(lease, .next(after: .seconds(60)))
            }
            try equal(try await bench.waiting(keys[0]).isUrgent, false, "urgency")
        },
        Case("a claim of ten takes eight urgent and two normal watches") { bench in
            let home = try await bench.enqueueMany(urgent: 60, rest: 60)
            for _ in 0..<6 {
                let got = try await bench.counts(home, limit: 10)
                try equal([got.urgent, got.rest], [8, 2], "urgent and normal watches")
            }
        },
        Case("claims of one and of three take four urgent watches per normal one") { bench in
            let home = try await bench.enqueueMany(urgent: 100, rest: 100)
            for (limit, claims) in [(1, 50), (3, 20)] {
                var rest = 0
                for _ in 0..<claims { rest += try await bench.counts(home, limit: limit).rest }
                try equal(rest, limit * claims / 5, "normal watches in claims of \(limit)")
            }
        },
        Case("slots that one schedule does not use go to the other") { bench in
            let home = try await bench.enqueueMany(urgent: 3, rest: 18)
            let first = try await bench.counts(home, limit: 20)
            try equal([first.urgent, first.rest], [3, 17], "few urgent watches")
            try await bench.enqueue(bench.keys(100..<120, "u"))
            let second = try await bench.counts(home, limit: 10)
            try equal([second.urgent, second.rest], [9, 1], "few normal watches")
        },
        Case("a lane with one slot serves its normal watches too") { bench in
            let home = try await bench.enqueueMany(urgent: 1, rest: 5)
            let one = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            var rest = 0
            for _ in 0..<20 {
                let claim = try await bench.claim(in: home, limit: 32, lane: one)
                let lease = try bench.some(claim.leases.first, "a lease")
                let isUrgent = lease.item.key.source.description.hasPrefix("src_u")
                if !isUrgent { rest += 1 }
                let next = Verdict.next(after: .zero)
                _ = try await bench.commit(lease, next, isUrgent: isUrgent)
            }
            try equal(rest, 4, "normal watches in twenty claims")
        },
    ]
}

extension ConformanceBench {
    /// Makes a lane with due urgent and normal watches; returns its partition.
    func enqueueMany(urgent: Int, rest: Int) async throws -> Int {
        let others = keys(0..<rest, "r")
        try await enqueueRest(others)
        try await enqueue(keys(0..<urgent, "u"))
        return partition(of: others[0])
    }
}
