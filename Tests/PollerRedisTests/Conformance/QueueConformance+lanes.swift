import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let lanes: [ConformanceCase] = [
        Case("claims never exceed rate and burst in any window") { bench in
            let limit = LaneLimit(ratePerSecond: 10, burst: 3, inFlightMax: 1000)
            let times = try await bench.claimTimes(limit, steps: 300, stepMs: 17, perClaim: 5)
            let origin = try bench.some(times.first, "a claim")
            let offsets = times.map { ($0 - origin).ms }
            for first in offsets.indices {
                for last in first..<offsets.count {
                    let allowed = Int64(limit.burst) + (offsets[last] - offsets[first]) / 100
                    let claims = Int64(last - first + 1)
                    try bench.expect(
                        claims <= allowed,
                        "\(claims) claims from \(offsets[first]) to \(offsets[last]) ms"
                    )
                }
            }
        },
        Case("a busy lane is served at its full rate") { bench in
            let limit = LaneLimit(ratePerSecond: 20, burst: 5, inFlightMax: 1000)
            let times = try await bench.claimTimes(limit, steps: 401, stepMs: 5, perClaim: 50)
            // Two seconds: the burst at once, then one every 50 ms.
            try equal(times.count, 45, "claims within 2 s")
        },
        Case("an idle lane may burst again, but does not save up more than a burst") { bench in
            let key = bench.key("1")
            let limit = LaneLimit(ratePerSecond: 10, burst: 3, inFlightMax: 1000)
            let keys = (0..<12).map { bench.key("\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            var counts: [Int] = []
            for _ in 0..<3 {
                let claim = try await bench.claim(
                    in: bench.partition(of: key),
                    lease: .seconds(3600),
                    lane: limit
                )
                counts.append(claim.leases.count)
                try await bench.advance(ms: 60_000)
            }
            try equal(counts, [3, 3, 3], "claims after a minute each")
        },
        Case("a claim reports when the rate allows the next one") { bench in
            let limit = LaneLimit(ratePerSecond: 4, burst: 2, inFlightMax: 1000)
            let keys = (0..<5).map { bench.key("\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            let home = bench.partition(of: keys[0])
            let first = try await bench.claim(in: home, lane: limit)
            try equal(first.leases.count, 2, "the burst")
            try equal(first.nextReady, first.now + .milliseconds(250), "next ready")
            try await bench.advance(ms: 249)
            let early = try await bench.claim(in: home, lane: limit)
            try equal(early.leases.count, 0, "1 ms early")
            try await bench.advance(ms: 1)
            let second = try await bench.claim(in: home, lane: limit)
            try equal(second.leases.count, 1, "on time")
        },
        Case("no lane holds more leases than it has slots") { bench in
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 3)
            let keys = (0..<10).map { bench.key("\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            let home = bench.partition(of: keys[0])
            let early = try await bench.claim(in: home, limit: 2, lane: limit)
            try equal(early.fullLanes, [], "full lanes while a slot is left")
            let last = try await bench.claim(in: home, lane: limit)
            try equal(last.fullLanes, [keys[0].lane], "full lanes after the last slot")
            let (first, second) = (early.leases, last.leases)
            let third = try await bench.claim(in: home, lane: limit)
            let counts = [first.count, second.count, third.leases.count]
            try equal(counts, [2, 1, 0], "leases of each claim")
            try equal(
                third.nextReady,
                third.now + ConformanceBench.lease,
                "next ready of a full lane"
            )
            _ = try await bench.commit(first[0], .next(after: .seconds(60)))
            _ = try await bench.watches.release([first[1].ref])
            _ = try await bench.commit(second[0], .close(.gone))
            let again = try await bench.claim(in: home, lane: limit)
            try equal(again.leases.count, 3, "leases after commit, release and close")
            try equal(again.fullLanes, [keys[0].lane], "full lanes once more")
        },
        Case("the slots of expired leases are freed with their items") { bench in
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 2)
            let keys = (0..<8).map { bench.key("\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            let home = bench.partition(of: keys[0])
            // Three rounds: after that the items are suspected of killing their workers.
            for round in 0..<3 {
                let claim = try await bench.claim(in: home, lane: limit)
                try equal(claim.leases.count, 2, "leases in round \(round)")
                let full = try await bench.claim(in: home, lane: limit)
                try equal(full.leases.count, 0, "leases of a full lane in round \(round)")
                try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            }
        },
        Case("a wake comes when a slot of a full lane is freed") { bench in
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            let stream = bench.watches.wakes()
            for key in keys { try await bench.enqueue(key) }
            try await bench.isNotified(home, from: stream, "a wake") {
                let claim = try await bench.claim(in: home, lane: limit)
                for lease in claim.leases {
                    _ = try await bench.commit(lease, .next(after: .milliseconds(1)))
                }
                try await bench.advance(ms: 1)
            }
        },
        Case("a lane at its limit does not block other lanes") { bench in
            let limit = LaneLimit(ratePerSecond: 1, burst: 1, inFlightMax: 1)
            let accounts = bench.accounts(4)
            let home = bench.partition(of: bench.key("0", account: accounts[0]))
            let waiting = try (0..<50).map {
                try NewWatch(key: bench.key("\($0)", account: accounts[0]))
            }
            _ = try await bench.watches.enqueue(waiting)
            try await bench.advance(ms: 10)
            for account in accounts.dropFirst() {
                try await bench.enqueue(bench.key("late", account: account))
            }
            let claim = try await bench.claim(in: home, lane: limit)
            let lanes = Set(claim.leases.map(\.lane))
            try equal(lanes.count, 4, "lanes served")
            try equal(claim.leases.count, 4, "leases")
        },
        Case("overdue lanes take turns") { bench in
            let accounts = bench.accounts(3)
            let home = bench.partition(of: bench.key("0", account: accounts[0]))
            for account in accounts {
                let watches = try (0..<40).map {
                    try NewWatch(key: bench.key("\($0)", account: account))
                }
                _ = try await bench.watches.enqueue(watches)
                try await bench.advance(ms: 100)
            }
            var served: Set<LaneID> = []
            for _ in accounts {
                let claim = try await bench.claim(in: home, limit: 10)
                try equal(claim.leases.count, 10, "leases of a claim")
                served.formUnion(claim.leases.map(\.lane))
                try await bench.advance(ms: 1)
            }
            try equal(served.count, 3, "lanes served by as many claims")
        },
        Case("all overdue items of all lanes are claimed") { bench in
            let accounts = bench.accounts(3)
            let home = bench.partition(of: bench.key("0", account: accounts[0]))
            var all: Set<WatchKey> = []
            for (account, count) in zip(accounts, [60, 7, 1]) {
                let keys = (0..<count).map { bench.key("\($0)", account: account) }
                all.formUnion(keys)
                _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            }
            var taken: [WatchKey] = []
            for _ in 0..<20 {
                taken += try await bench.claim(in: home, limit: 7).leases.map(\.item.key)
                try await bench.advance(ms: 1)
            }
            try equal(taken.count, all.count, "leases")
            try equal(Set(taken), all, "watches")
        },
    ]
}

extension ConformanceBench {
    /// Returns the times of the claims of an always full lane.
    func claimTimes(
        _ limit: LaneLimit,
        steps: Int,
        stepMs: Int,
        perClaim: Int
    ) async throws -> [Timestamp] {
        let keys = (0..<40).map { key("\($0)") }
        _ = try await watches.enqueue(keys.map { try NewWatch(key: $0) })
        let home = partition(of: keys[0])
        var times: [Timestamp] = []
        for step in 0..<steps {
            let claim = try await claim(in: home, limit: perClaim, lane: limit)
            times += claim.leases.map(\.claimedAt)
            if !claim.leases.isEmpty {
                _ = try await watches.commit(claim.leases.map { poll($0, .next(after: .zero)) })
            }
            if step + 1 < steps { try await advance(ms: stepMs) }
        }
        return times
    }
}
