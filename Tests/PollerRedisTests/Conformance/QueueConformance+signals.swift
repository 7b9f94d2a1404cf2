import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Signals of attempts for their lane: too many requests, no response, access denied.
extension QueueConformance {
    private static let limit = LaneLimit(ratePerSecond: 100, burst: 1, inFlightMax: 8)

    static let slowing: [ConformanceCase] = [
        Case("a slowdown holds the lane, which then resumes at half its rate") { bench in
            let keys = try await bench.enqueued(0..<8)
            try await bench.attempt(keys[0], .slow(.seconds(2)))
            let home = bench.partition(of: keys[0])
            let held = try await bench.claim(in: home, lane: limit)
            try equal(held.leases.count, 0, "leases while held")
            try equal(held.nextReady, held.now + .seconds(2), "next ready")
            let report = try await bench.report(keys[0])
            try equal(report.heldUntil, held.now + .seconds(2), "held until")
            try equal(report.factor, 0.5, "factor")
            try equal(report.failures, 0, "failures")
            try await bench.advance(ms: 2000)
            let claim = try await bench.claim(in: home, lane: limit, ahead: .milliseconds(50))
            let starts = claim.leases.map { ($0.startsAt - claim.now).ms }
            try equal(starts, [0, 20, 40], "starts at half the rate")
        },
        Case("a slowdown also halves the slots, down to one") { bench in
            let keys = try await bench.enqueued(0..<20)
            let slots = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 5)
            let home = bench.partition(of: keys[0])
            for wanted in [2, 1, 1] {
                try await bench.attempt(keys[0], .slow(.milliseconds(10)))
                try await bench.advance(ms: 10)
                let claim = try await bench.claim(in: home, lane: slots)
                try equal(claim.leases.count, wanted, "leases of the claim")
                _ = try await bench.watches.release(claim.leases.map(\.ref))
            }
        },
        Case("a burst of slowdowns halves the rate once, and the longest hold applies") { bench in
            let keys = try await bench.enqueued(0..<6)
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
            try equal(report.factor, 0.5, "factor")
            try equal(report.heldUntil, report.now + .milliseconds(1), "held until")
        },
        Case("successive slowdowns halve the rate again, down to 1/32") { bench in
            let key = try await bench.enqueued("1")
            var factors: [Double] = []
            for _ in 0..<7 {
                try await bench.attempt(key, .slow(.milliseconds(100)))
                factors.append(try await bench.report(key).factor)
                try await bench.advance(ms: 100)
            }
            let inverse = factors.map { Int(1 / $0) }
            try equal(inverse, [2, 4, 8, 16, 32, 32, 32], "1 / factor")
        },
        Case("a slowed lane gets 5 % of its limit back each second after the hold") { bench in
            let key = try await bench.enqueued("1")
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
        Case("a slowed lane never exceeds its full rate and burst") { bench in
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
        Case("resuming a lane restores its whole limit at once") { bench in
            let keys = try await bench.enqueued(0..<3)
            try await bench.attempt(keys[0], .slow(.seconds(60)))
            try await bench.harness.lanes.resume(keys[0].lane)
            let report = try await bench.report(keys[0])
            try equal(report.factor, 1, "factor")
            try equal(report.heldUntil, nil, "held until")
            let claim = try await bench.claim(in: bench.partition(of: keys[0]))
            try equal(claim.leases.count, 3, "leases")
        },
        Case("the signals of stale and repeated commits are ignored") { bench in
            let keys = try await bench.enqueued(0..<2)
            let leases = try await bench.claim(in: bench.partition(of: keys[0])).leases
            _ = try await bench.watches.cancel(leases[0].item.key)
            let stale = bench.poll(leases[0], .rest, signal: .refused(.seconds(60)))
            try equal(try await bench.watches.commit([stale]), [.leaseLost], "the stale commit")
            let once = bench.poll(leases[1], .next(after: .zero), signal: .failing)
            for _ in 0..<2 {
                try equal(try await bench.watches.commit([once]), [.done], "the valid commit")
            }
            let report = try await bench.report(keys[1])
            try equal(report.failures, 1, "failures")
            try equal(report.heldUntil, nil, "held until")
        },
        Case("a lane keeps its slowdown while it is empty") { bench in
            let key = try await bench.enqueued("1")
            try await bench.attempt(key, .slow(.seconds(2)))
            _ = try await bench.watches.cancel(key)
            try await bench.advance(ms: 1000)
            try await bench.enqueue(key)
            let report = try await bench.report(key)
            try equal(report.factor, 0.5, "factor")
            try equal(report.heldUntil, report.now + .seconds(1), "held until")
        },
    ]

    static let circuits: [ConformanceCase] = [
        Case("ten attempts in a row without a response open the circuit") { bench in
            let key = try await bench.enqueued("1")
            for _ in 0..<9 { try await bench.attempt(key, .failing) }
            let before = try await bench.report(key)
            try equal(before.circuit, .closed, "circuit after nine")
            try equal(before.heldUntil, nil, "held until after nine")
            try await bench.attempt(key, .failing)
            let report = try await bench.report(key)
            try equal(report.failures, 10, "failures")
            try equal(report.circuit, .open, "circuit after ten")
            try equal(report.heldUntil, report.now + .seconds(1), "held until")
            let claim = try await bench.claim(in: bench.partition(of: key))
            try equal(claim.leases.count, 0, "leases while open")
            try equal(claim.nextReady, claim.now + .seconds(1), "next ready")
        },
        Case("a response between failures keeps the circuit closed") { bench in
            let key = try await bench.enqueued("1")
            for number in 0..<30 {
                try await bench.attempt(key, number % 10 == 9 ? .fine : .failing)
            }
            try equal(try await bench.report(key).circuit, .closed, "circuit")
            try equal(try await bench.report(key).failures, 0, "failures")
        },
        Case("signals of one batch take effect in their order") { bench in
            let keys = try await bench.enqueued(0..<22)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            let answered = leases[..<11].enumerated().map { place, lease in
                bench.poll(lease, .rest, signal: place == 10 ? .fine : .failing)
            }
            _ = try await bench.watches.commit(answered)
            let closed = try await bench.report(keys[0])
            try equal(
                [closed.failures, closed.waiting],
                [0, 0],
                "failures and waiting watches after a response at the end"
            )
            try equal(closed.heldUntil, nil, "held until")
            let unanswered = leases[11...].enumerated().map { place, lease in
                bench.poll(lease, .rest, signal: place == 0 ? .fine : .failing)
            }
            _ = try await bench.watches.commit(unanswered)
            try await bench.enqueue(bench.key("late"))
            let open = try await bench.report(keys[0])
            try equal(open.failures, 10, "failures after a response at the start")
            try equal(open.circuit, .open, "circuit")
        },
        Case("an open circuit is probed by one item when its hold is over") { bench in
            let keys = bench.keys(0..<20)
            let home = try await bench.openCircuit(keys)
            try await bench.advance(ms: 1000)
            try equal(try await bench.report(keys[0]).circuit, .probing, "circuit")
            let probe = try await bench.claim(in: home)
            try equal(probe.leases.count, 1, "leases")
            try equal(try await bench.claim(in: home).leases.count, 0, "leases next to the probe")
            try await bench.signal(try bench.some(probe.leases.first, "the probe"), .fine)
            let report = try await bench.report(keys[0])
            try equal(report.circuit, .closed, "circuit after a success")
            try equal(try await bench.claim(in: home).leases.count, 20, "leases after a success")
        },
        Case("each failed probe doubles the hold, up to a minute") { bench in
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
            try equal(holds, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000], "holds")
        },
        Case("after a success the first hold is short again") { bench in
            let keys = bench.keys(0..<3)
            _ = try await bench.openCircuit(keys)
            try await bench.advance(ms: 1000)
            try await bench.attempt(keys[0], .failing)
            try await bench.advance(ms: 2000)
            try await bench.attempt(keys[0], .fine)
            for _ in 0..<10 { try await bench.attempt(keys[0], .failing) }
            let report = try await bench.report(keys[0])
            try equal(report.heldUntil, report.now + .seconds(1), "held until")
        },
        Case("repeated failures of one item do not open the circuit") { bench in
            let keys = try await bench.enqueued(0..<3)
            for _ in 0..<12 { try await bench.attempt(keys[0], .stillFailing) }
            let report = try await bench.report(keys[0])
            try equal(report.circuit, .closed, "circuit")
            try equal(report.failures, 0, "failures")
            try equal(report.heldUntil, nil, "held until")
        },
        Case("repeated failures of one item do not lengthen the hold of an open circuit") { bench in
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
            try equal(holds, [2000, 4000, 1000, 1000, 1000], "holds")
        },
        Case("the kind of the last failure is kept until an attempt succeeds") { bench in
            let keys = try await bench.enqueued(0..<3)
            try equal(try await bench.report(keys[0]).lastFailure, nil, "at first")
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
                try equal(found, wanted, "after \(signal)")
            }
            for _ in 0..<10 { try await bench.attempt(keys[0], .erring) }
            let open = try await bench.report(keys[0])
            try equal(open.circuit, .open, "circuit after ten errors")
            try await bench.harness.lanes.resume(keys[0].lane)
            try equal(try await bench.report(keys[0]).lastFailure, nil, "resumed")
        },
        Case("a revoked key opens the circuit even if one item reports it") { bench in
            let keys = try await bench.enqueued(0..<3)
            for _ in 0..<9 { try await bench.attempt(keys[0], .revoked) }
            let before = try await bench.report(keys[0])
            try equal(before.circuit, .closed, "after nine")
            try equal(before.lastFailure, .revoked, "the last failure")
            try await bench.attempt(keys[0], .revoked)
            let open = try await bench.report(keys[0])
            try equal(open.circuit, .open, "after ten of one item")
            try equal(open.heldUntil, open.now + .seconds(1), "held until")
        },
        Case("denials of different items open the circuit, whose holds grow slowly") { bench in
            let keys = try await bench.enqueued(0..<3)
            for _ in 0..<9 { try await bench.attempt(keys[0], .denied) }
            try equal(try await bench.report(keys[0]).circuit, .closed, "after nine")
            var holds: [Int64?] = []
            for _ in 0..<33 {
                try await bench.attempt(keys[0], .denied)
                let report = try await bench.report(keys[0])
                try equal(report.circuit, .open, "circuit")
                holds.append(report.heldUntil.map { ($0 - report.now).ms })
                try await bench.advance(ms: 2000)
            }
            try equal(holds.prefix(31), Array(repeating: 1000, count: 31)[...], "holds")
            try equal(holds.suffix(2), [2000, 2000], "the last holds")
        },
        Case("failures of attempts in flight do not lengthen the hold") { bench in
            let keys = try await bench.enqueued(0..<15)
            let leases = try await bench.claim(in: bench.partition(of: keys[0])).leases
            for lease in leases { try await bench.signal(lease, .failing) }
            let report = try await bench.report(keys[0])
            try equal(report.failures, 15, "failures")
            try equal(report.heldUntil, report.now + .seconds(1), "held until")
        },
        Case("a refusal opens the circuit at once and for its span") { bench in
            let keys = try await bench.enqueued(0..<3)
            try await bench.attempt(keys[0], .refused(.seconds(60)))
            let report = try await bench.report(keys[0])
            try equal(report.circuit, .open, "circuit")
            try equal(report.failures, 10, "failures")
            try equal(report.heldUntil, report.now + .seconds(60), "held until")
            try await bench.advance(ms: 60_000)
            let home = bench.partition(of: keys[0])
            try equal(try await bench.claim(in: home).leases.count, 1, "leases: a probe")
        },
        Case("resuming a lane closes its circuit") { bench in
            let keys = bench.keys(0..<5)
            let home = try await bench.openCircuit(keys)
            try await bench.harness.lanes.resume(keys[0].lane)
            let report = try await bench.report(keys[0])
            try equal(report.circuit, .closed, "circuit")
            try equal(report.failures, 0, "failures")
            try equal(try await bench.claim(in: home).leases.count, 5, "leases")
        },
        Case("an open circuit does not delay other lanes") { bench in
            let accounts = bench.accounts(2)
            let home = try await bench.openCircuit(bench.keys(0..<5, account: accounts[0]))
            try await bench.enqueue(bench.keys(0..<5, account: accounts[1]))
            try equal(try await bench.claim(in: home).leases.count, 5, "leases")
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
