import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Explanations of when and why a watch is polled.
extension QueueConformance {
    private static let common = LaneLimit(ratePerSecond: 7, burst: 2, inFlightMax: 3)

    static let explaining: [ConformanceCase] = [
        Case("an unknown watch has no explanation") { bench in
            let none = try await bench.watches.explain(bench.key("none"), limit: common)
            try equal(none, nil, "an explanation")
        },
        Case("the explanation of a waiting watch has its position and its lane") { bench in
            let keys = bench.keys(0..<3)
            for key in keys {
                try await bench.enqueue(key)
                try await bench.advance(ms: 1)
            }
            let explained = try bench.some(
                try await bench.watches.explain(keys[2], limit: common),
                "an explanation"
            )
            let due = explained.snapshot.watch.createdAt
            try equal(explained.queueState, .waiting(due: due, isUrgent: true, ahead: 2), "state")
            try equal(explained.snapshot, try await bench.snapshot(keys[2]), "snapshot")
            try equal(explained.lane, try await bench.report(keys[2]), "lane")
            try equal(explained.limit, common, "limit")
            try equal(explained.crashes, 0, "crashes")
        },
        Case(
            "the items ahead of a normal one are earlier normal ones and due urgent ones"
        ) { bench in
            let rest = bench.keys(0..<3, "r")
            try await bench.enqueueRest(rest)
            try await bench.enqueue(bench.keys(0..<4, "u"))
            let home = bench.partition(of: rest[0])
            var ahead: [Int] = []
            for key in rest { ahead.append(try await bench.waiting(key).ahead) }
            try equal(ahead, [4, 5, 6], "items ahead of each normal one")
            // An urgent watch that is not due yet is served after normal ones that are.
            let lease = try await bench.takeOne(in: home)
            let next = Verdict.next(after: .seconds(60))
            _ = try await bench.commit(lease, next, isUrgent: true)
            try equal(try await bench.waiting(rest[1]).ahead, 4, "items ahead of a normal one")
            try equal(
                try await bench.waiting(lease.item.key).ahead,
                3,
                "items ahead of the urgent one"
            )
        },
        Case("the overdue watches of a lane are listed, the longest overdue first") { bench in
            let rest = bench.keys(0..<2, "r")
            try await bench.enqueueRest(rest)
            let urgent = bench.keys(0..<3, "u")
            for key in urgent {
                try await bench.enqueue(key)
                try await bench.advance(ms: 10)
            }
            let lane = urgent[0].lane
            let all = try await bench.watches.overdue(in: lane, limit: 100)
                .map(\.key)
            try equal(Set(all), Set(rest + urgent), "the overdue")
            try equal(all.filter(urgent.contains), urgent, "the urgent ones in order")
            let two = try await bench.watches.overdue(in: lane, limit: 2)
                .map(\.key)
            try equal(
                two.filter(urgent.contains),
                Array(urgent.prefix(2)),
                "the urgent ones within a limit"
            )
            // A watch that a worker polls, or that is not due, is not late.
            let home = bench.partition(of: urgent[0])
            let lease = try await bench.takeOne(in: home)
            let others = try await bench.watches.overdue(in: lane, limit: 100)
                .map(\.key)
            try bench.expect(!others.contains(lease.item.key), "a leased watch is listed")
            _ = try await bench.commit(lease, Verdict.next(after: .seconds(60)), isUrgent: true)
            let later = try await bench.watches.overdue(in: lane, limit: 100)
                .map(\.key)
            try bench.expect(
                !later.contains(lease.item.key),
                "a watch that is due in a minute is listed"
            )
            let none = try await bench.watches.overdue(in: bench.key("none").lane, limit: 100)
                .map(\.key)
            try equal(none.contains(lease.item.key), false, "a watch of another lane is listed")
        },
        Case("an explanation has the lane's own limit if there is one") { bench in
            let key = bench.key("1")
            let own = LaneLimit(ratePerSecond: 2, burst: 1, inFlightMax: 9)
            try await bench.enqueue(key)
            try await bench.harness.lanes.limit(key.lane, to: own)
            try await bench.harness.lanes.pause(key.lane)
            let explained = try bench.some(
                try await bench.watches.explain(key, limit: common),
                "an explanation"
            )
            try equal(explained.limit, own, "limit")
            try equal(explained.lane.limit, own, "limit of the lane")
            try equal(explained.lane.isPaused, true, "paused")
            try equal(explained.earliest, nil, "earliest")
        },
        Case("the explanation of a held lane has the end of the hold") { bench in
            let key = try await bench.enqueued("1")
            try await bench.attempt(key, .refused(.seconds(60)))
            let explained = try bench.some(
                try await bench.watches.explain(key, limit: common),
                "an explanation"
            )
            try equal(explained.lane.circuit, .open, "circuit")
            try equal(explained.earliest, explained.lane.now + .seconds(60), "earliest")
        },
        Case("the explanation of a leased watch has the owner and the end of the lease") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key, owner: ConformanceBench.bert)
            let explained = try await bench.watches.explain(key, limit: common)
            try equal(
                explained?.queueState,
                .leased(owner: ConformanceBench.bert, until: lease.endsAt),
                "state"
            )
            try equal(explained?.lane.inFlight, 1, "in flight")
        },
        Case("the explanation of a suspect has the number of its crashes") { bench in
            let key = try await bench.enqueued("1")
            try await bench.crash(bench.partition(of: key), times: 2)
            _ = try await bench.take(key)
            let explained = try await bench.watches.explain(key, limit: common)
            try equal(explained?.crashes, 2, "crashes")
        },
        Case("the explanation of a closed watch has the close reason") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .close(.gone))
            let explained = try bench.some(
                try await bench.watches.explain(key, limit: common),
                "an explanation"
            )
            try equal(explained.queueState, .closed(.gone), "state")
            try equal(explained.limit, common, "limit")
            try equal(explained.lane.lane, key.lane, "lane")
            try equal(
                [explained.lane.waiting, explained.lane.inFlight],
                [0, 0],
                "counts of the lane"
            )
        },
    ]
}
