import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Signals of attempts for their lane: too many requests, no response, access denied.
extension QueueConformance {
    private static let limit = LaneLimit(ratePerSecond: 100, burst: 1, inFlightMax: 8)

    static let slowing: [ConformanceCase] = [
        ConformanceCase("a slowdown holds the lane, which then resumes at half its rate") { bench in
            let keys = bench.keys(0..<8)
            try await bench.enqueue(keys)
            try await bench.attempt(keys[0], .slow(.seconds(2)))
            let home = bench.partition(of: keys[0])
            let held = try await bench.claim(in: home, lane: limit)
            try bench.equal(held.leases.count, 0, "leases while held")
            try bench.equal(held.nextReady, held.now + .seconds(2), "next ready")
            let report = try await bench.report(keys[0])
            try bench.equal(report.heldUntil, held.now + .seconds(2), "held until")
            try bench.equal(report.factor, 0.5, "factor")
            try bench.equal(report.failures, 0, "failures")
            try await bench.advance(ms: 2000)
            let claim = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(50))
            let starts = claim.leases.map { ($0.startsAt - claim.now).ms }
            try bench.equal(starts, [0, 20, 40], "starts at half the rate")
        },
        ConformanceCase("a slowdown also halves the slots, down to one") { bench in
            let keys = bench.keys(0..<20)
            try await bench.enqueue(keys)
            let slots = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 5)
            let home = bench.partition(of: keys[0])
            for wanted in [2, 1, 1] {
                try await bench.attempt(keys[0], .slow(.milliseconds(10)))
                try await bench.advance(ms: 10)
                let claim = try await bench.claim(in: home, lane: slots)
                try bench.equal(claim.leases.count, wanted, "leases of the claim")
                _ = try await bench.watches.release(claim.leases.map(\.ref))
            }
        },
        ConformanceCase("a burst of slowdowns halves the rate once, and the longest hold applies") {
            bench in
            let keys = bench.keys(0..<6)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            let commits = leases.prefix(3).map {
                bench.poll($0, .next(after: .zero), signal: .slow(.seconds(1)))
            }
            _ = try await bench.watches.commit(Array(commits))
            try await bench.signal(leases[3], .slow(.seconds(3)))
            try await bench.signal(leases[4], .slow(.milliseconds(10)))
            try await bench.advance(ms: 2999)
            try await bench.signal(leases[5], .slow(.milliseconds(1)))
            let report = try await bench.report(keys[0])
            try bench.equal(report.factor, 0.5, "factor")
            try bench.equal(report.heldUntil, report.now + .milliseconds(1), "held until")
        },
        ConformanceCase("successive slowdowns halve the rate again, down to 1/32") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            var factors: [Double] = []
            for _ in 0..<7 {
                try await bench.attempt(key, .slow(.milliseconds(100)))
                factors.append(try await bench.report(key).factor)
                try await bench.advance(ms: 100)
            }
            let inverse = factors.map { Int(1 / $0) }
            try bench.equal(inverse, [2, 4, 8, 16, 32, 32, 32], "1 / factor")
        },
        ConformanceCase("a slowed lane gets 5 % of its limit back each second after the hold") {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            try await bench.attempt(key, .slow(.seconds(2)))
            for (waitMs, wanted) in [(2000, 0.5), (1000, 0.55), (5000, 0.8), (60_000, 1)] {
                try await bench.advance(ms: waitMs)
                let factor = try await bench.report(key).factor
                try bench.expect(abs(factor - wanted) < 0.0001, "factor \(factor), not \(wanted)")
            }
            // The next one halves the factor recovered by then.
            try await bench.attempt(key, .slow(.seconds(1)))
            try await bench.advance(ms: 3000)
            try await bench.attempt(key, .slow(.seconds(1)))
            let factor = try await bench.report(key).factor
            try bench.expect(abs(factor - 0.3) < 0.0001, "factor \(factor), not 0.3")
        },
        ConformanceCase("a slowed lane never exceeds its full rate and burst") { bench in
            let burst = LaneLimit(ratePerSecond: 20, burst: 4, inFlightMax: 1000)
            try await bench.enqueue(bench.keys(0..<40))
            let home = bench.partition(of: bench.key("0"))
            var starts: [Timestamp] = []
            for step in 0..<60 {
                let claim = try await bench.claim(in: home, lane: burst)
                starts += claim.leases.map(\.startsAt)
                for (place, lease) in claim.leases.enumerated() {
                    let isSlow = place == 0 && step % 7 == 0
                    try await bench.signal(lease, isSlow ? .slow(.milliseconds(1)) : .fine)
                }
                try await bench.advance(ms: 17)
            }
            try bench.expectRate(starts, burst)
        },
        ConformanceCase("resuming a lane restores its whole limit at once") { bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            try await bench.attempt(keys[0], .slow(.seconds(60)))
            try await bench.harness.lanes.resume(keys[0].lane)
            let report = try await bench.report(keys[0])
            try bench.equal(report.factor, 1, "factor")
            try bench.equal(report.heldUntil, nil, "held until")
            let claim = try await bench.claim(in: bench.partition(of: keys[0]))
            try bench.equal(claim.leases.count, 3, "leases")
        },
        ConformanceCase("the signals of stale and repeated commits are ignored") { bench in
            let keys = bench.keys(0..<2)
            try await bench.enqueue(keys)
            let leases = try await bench.claim(in: bench.partition(of: keys[0])).leases
            _ = try await bench.watches.cancel(leases[0].item.key)
            let stale = bench.poll(leases[0], .rest, signal: .refused(.seconds(60)))
            try bench.equal(
                try await bench.watches.commit([stale]),
                [.leaseLost],
                "the stale commit"
            )
            let once = bench.poll(leases[1], .next(after: .zero), signal: .failing)
            for _ in 0..<2 {
                try bench.equal(try await bench.watches.commit([once]), [.done], "the valid commit")
            }
            let report = try await bench.report(keys[1])
            try bench.equal(report.failures, 1, "failures")
            try bench.equal(report.heldUntil, nil, "held until")
        },
        ConformanceCase("a lane keeps its slowdown while it is empty") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            try await bench.attempt(key, .slow(.seconds(2)))
            _ = try await bench.watches.cancel(key)
            try await bench.advance(ms: 1000)
            try await bench.enqueue(key)
            let report = try await bench.report(key)
            try bench.equal(report.factor, 0.5, "factor")
            try bench.equal(report.heldUntil, report.now + .seconds(1), "held until")
        },
    ]

    static let circuits: [ConformanceCase] = [
        ConformanceCase("ten attempts in a row without a response open the circuit") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            for _ in 0..<9 { try await bench.attempt(key, .failing) }
            let before = try await bench.report(key)
            try bench.equal(before.circuit, .closed, "circuit after nine")
            try bench.equal(before.heldUntil, nil, "held until after nine")
            try await bench.attempt(key, .failing)
            let report = try await bench.report(key)
            try bench.equal(report.failures, 10, "failures")
            try bench.equal(report.circuit, .open, "circuit after ten")
            try bench.equal(report.heldUntil, report.now + .seconds(1), "held until")
            let claim = try await bench.claim(in: bench.partition(of: key))
            try bench.equal(claim.leases.count, 0, "leases while open")
            try bench.equal(claim.nextReady, claim.now + .seconds(1), "next ready")
        },
        ConformanceCase("a response between failures keeps the circuit closed") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            for number in 0..<30 {
                try await bench.attempt(key, number % 10 == 9 ? .fine : .failing)
            }
            try bench.equal(try await bench.report(key).circuit, .closed, "circuit")
            try bench.equal(try await bench.report(key).failures, 0, "failures")
        },
        ConformanceCase("signals of one batch take effect in their order") { bench in
            let keys = bench.keys(0..<22)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            let answered = leases[..<11].enumerated().map { place, lease in
                bench.poll(lease, .rest, signal: place == 10 ? .fine : .failing)
            }
            _ = try await bench.watches.commit(answered)
            let closed = try await bench.report(keys[0])
            try bench.equal(
                [closed.failures, closed.waiting],
                [0, 0],
                "failures and waiting watches after a response at the end"
            )
            try bench.equal(closed.heldUntil, nil, "held until")
            let unanswered = leases[11...].enumerated().map { place, lease in
                bench.poll(lease, .rest, signal: place == 0 ? .fine : .failing)
            }
            _ = try await bench.watches.commit(unanswered)
            try await bench.enqueue(bench.key("late"))
            let open = try await bench.report(keys[0])
            try bench.equal(open.failures, 10, "failures after a response at the start")
            try bench.equal(open.circuit, .open, "circuit")
        },
        ConformanceCase("an open circuit is probed by one item when its hold is over") { bench in
            let keys = bench.keys(0..<20)
            let home = try await bench.openCircuit(keys)
            try await bench.advance(ms: 1000)
            try bench.equal(try await bench.report(keys[0]).circuit, .probing, "circuit")
            let probe = try await bench.claim(in: home)
            try bench.equal(probe.leases.count, 1, "leases")
            try bench.equal(
                try await bench.claim(in: home).leases.count,
                0,
                "leases next to the probe"
            )
            try await bench.signal(try bench.some(probe.leases.first, "the probe"), .fine)
            let report = try await bench.report(keys[0])
            try bench.equal(report.circuit, .closed, "circuit after a success")
            try bench.equal(
                try await bench.claim(in: home).leases.count,
                20,
                "leases after a success"
            )
        },
        ConformanceCase("each failed probe doubles the hold, up to a minute") { bench in
            let keys = bench.keys(0..<3)
            _ = try await bench.openCircuit(keys)
            var holds: [Int64] = []
            for _ in 0..<8 {
                let open = try await bench.report(keys[0])
                let until = try bench.some(open.heldUntil, "a hold")
                holds.append((until - open.now).ms)
                try await bench.advance(ms: Int((until - open.now).ms))
                try await bench.attempt(keys[0], .failing)
            }
            try bench.equal(
                holds,
                [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000],
                "holds"
            )
        },
        ConformanceCase("after a success the first hold is short again") { bench in
            let keys = bench.keys(0..<3)
            _ = try await bench.openCircuit(keys)
            try await bench.advance(ms: 1000)
            try await bench.attempt(keys[0], .failing)
            try await bench.advance(ms: 2000)
            try await bench.attempt(keys[0], .fine)
            for _ in 0..<10 { try await bench.attempt(keys[0], .failing) }
            let report = try await bench.report(keys[0])
            try bench.equal(report.heldUntil, report.now + .seconds(1), "held until")
        },
        ConformanceCase("repeated failures of one item do not open the circuit") { bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            for _ in 0..<12 { try await bench.attempt(keys[0], .stillFailing) }
            let report = try await bench.report(keys[0])
            try bench.equal(report.circuit, .closed, "circuit")
            try bench.equal(report.failures, 0, "failures")
            try bench.equal(report.heldUntil, nil, "held until")
        },
        ConformanceCase("repeated failures of one item do not lengthen the hold of an open circuit")
        {
            bench in
            let keys = bench.keys(0..<3)
            _ = try await bench.openCircuit(keys)
            var holds: [Int64?] = []
            // An upstream that responds at all is no longer silent, so those holds start over.
            for signal in [LaneSignal.failing, .failing, .stillFailing, .stillFailing, .failing] {
                try await bench.advance(ms: 4000)
                try await bench.attempt(keys[0], signal)
                let report = try await bench.report(keys[0])
                holds.append(report.heldUntil.map { ($0 - report.now).ms })
            }
            try bench.equal(holds, [2000, 4000, 1000, 1000, 1000], "holds")
        },
        ConformanceCase("the kind of the last failure is kept until an attempt succeeds") { bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            try bench.equal(try await bench.report(keys[0]).lastFailure, nil, "at first")
            let story: [(LaneSignal, LaneFailure?)] = [
                (.failing, .silent), (.erring, .erring), (.hold(.zero), .erring),
                (.denied, .denied),
                (.erring, .erring), (.stillFailing, .denied), (.stillGarbled, .erring),
                (.revoked, .revoked),
                (.fine, nil),
            ]
            for (signal, wanted) in story {
                try await bench.attempt(keys[0], signal)
                let found = try await bench.report(keys[0]).lastFailure
                try bench.equal(found, wanted, "after \(signal)")
            }
            for _ in 0..<10 { try await bench.attempt(keys[0], .erring) }
            let open = try await bench.report(keys[0])
            try bench.equal(open.circuit, .open, "circuit after ten errors")
            try await bench.harness.lanes.resume(keys[0].lane)
            try bench.equal(try await bench.report(keys[0]).lastFailure, nil, "resumed")
        },
        ConformanceCase("a revoked key opens the circuit even if one item reports it") { bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            for _ in 0..<9 { try await bench.attempt(keys[0], .revoked) }
            let before = try await bench.report(keys[0])
            try bench.equal(before.circuit, .closed, "after nine")
            try bench.equal(before.lastFailure, .revoked, "the last failure")
            try await bench.attempt(keys[0], .revoked)
            let open = try await bench.report(keys[0])
            try bench.equal(open.circuit, .open, "after ten of one item")
            try bench.equal(open.heldUntil, open.now + .seconds(1), "held until")
        },
        ConformanceCase("denials of different items open the circuit, whose holds grow slowly") {
            bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            for _ in 0..<9 { try await bench.attempt(keys[0], .denied) }
            try bench.equal(try await bench.report(keys[0]).circuit, .closed, "after nine")
            var holds: [Int64?] = []
            for _ in 0..<33 {
                try await bench.attempt(keys[0], .denied)
                let report = try await bench.report(keys[0])
                try bench.equal(report.circuit, .open, "circuit")
                holds.append(report.heldUntil.map { ($0 - report.now).ms })
                try await bench.advance(ms: 2000)
            }
            try bench.equal(holds.prefix(31), Array(repeating: 1000, count: 31)[...], "holds")
            try bench.equal(holds.suffix(2), [2000, 2000], "the last holds")
        },
        ConformanceCase("failures of attempts in flight do not lengthen the hold") { bench in
            let keys = bench.keys(0..<15)
            try await bench.enqueue(keys)
            let leases = try await bench.claim(in: bench.partition(of: keys[0])).leases
            for lease in leases { try await bench.signal(lease, .failing) }
            let report = try await bench.report(keys[0])
            try bench.equal(report.failures, 15, "failures")
            try bench.equal(report.heldUntil, report.now + .seconds(1), "held until")
        },
        ConformanceCase("a refusal opens the circuit at once and for its span") { bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            try await bench.attempt(keys[0], .refused(.seconds(60)))
            let report = try await bench.report(keys[0])
            try bench.equal(report.circuit, .open, "circuit")
            try bench.equal(report.failures, 10, "failures")
            try bench.equal(report.heldUntil, report.now + .seconds(60), "held until")
            try await bench.advance(ms: 60_000)
            let home = bench.partition(of: keys[0])
            try bench.equal(try await bench.claim(in: home).leases.count, 1, "leases: a probe")
        },
        ConformanceCase("resuming a lane closes its circuit") { bench in
            let keys = bench.keys(0..<5)
            let home = try await bench.openCircuit(keys)
            try await bench.harness.lanes.resume(keys[0].lane)
            let report = try await bench.report(keys[0])
            try bench.equal(report.circuit, .closed, "circuit")
            try bench.equal(report.failures, 0, "failures")
            try bench.equal(try await bench.claim(in: home).leases.count, 5, "leases")
        },
        ConformanceCase("an open circuit does not delay other lanes") { bench in
            let accounts = bench.accounts(2)
            let home = try await bench.openCircuit(bench.keys(0..<5, account: accounts[0]))
            try await bench.enqueue(bench.keys(0..<5, account: accounts[1]))
            try bench.equal(try await bench.claim(in: home).leases.count, 5, "leases")
        },
    ]
}

extension ConformanceBench {
    /// Enqueues watches of one lane and lets ten attempts fail without a response.
    func openCircuit(_ keys: [WatchKey]) async throws -> Int {
        try await enqueue(keys)
        for _ in 0..<10 { try await attempt(keys[0], .failing) }
        return partition(of: keys[0])
    }
}
