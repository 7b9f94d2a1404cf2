import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let claiming: [ConformanceCase] = [
        Case("an empty partition grants no leases and is never ready") { bench in
            let claim = try await bench.claim(in: 0)
            try equal(claim.leases.count, 0, "leases")
            try equal(claim.nextReady, nil, "next ready")
        },
        Case("an item is claimed from its due time on, and not before") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            _ = try await bench.commit(lease, .next(after: .milliseconds(1500)))
            try await bench.advance(ms: 1499)
            try equal(try await bench.due(key), [], "due 1 ms early")
            try await bench.advance(ms: 1)
            let again = try await bench.take(key)
            try equal(again.due, lease.claimedAt + .milliseconds(1500), "due")
        },
        Case("an item has one lease at a time") { bench in
            let key = try await bench.enqueued("1")
            _ = try await bench.take(key)
            let other = try await bench.due(key, owner: ConformanceBench.bert)
            try equal(other, [], "leases of a second owner")
        },
        Case("a claim takes no more than its limit, and later claims take the others") { bench in
            let keys = (0..<25).map { bench.key("\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            var sizes: [Int] = []
            var taken: [WatchKey] = []
            for _ in 0..<4 {
                let leases = try await bench.claim(in: bench.partition(of: keys[0]), limit: 10)
                    .leases
                sizes.append(leases.count)
                taken += leases.map(\.item.key)
            }
            try equal(sizes, [10, 10, 5, 0], "items of each claim")
            try equal(Set(taken), Set(keys), "all items")
        },
        Case("items of a lane are claimed in the order of their due times") { bench in
            let keys = (0..<5).map { bench.key("\($0)") }
            for key in keys.reversed() { try await bench.enqueue(key) }
            let claim = try await bench.claim(in: bench.partition(of: keys[0]))
            for lease in claim.leases {
                let place = keys.firstIndex(of: lease.item.key) ?? 0
                _ = try await bench.commit(lease, .next(after: .milliseconds(100 * (place + 1))))
            }
            try await bench.advance(ms: 1000)
            var order: [WatchKey] = []
            for _ in keys {
                let claim = try await bench.claim(in: bench.partition(of: keys[0]), limit: 1)
                order += claim.leases.map(\.item.key)
            }
            try equal(order, keys, "order")
        },
        Case("a lease has its partition, owner, start and end; a claim has the time") { bench in
            let key = try await bench.enqueued("1")
            let claim = try await bench.claim(
                in: bench.partition(of: key),
                owner: ConformanceBench.bert,
                lease: .milliseconds(12_345)
            )
            let lease = try bench.some(claim.leases.first, "a lease")
            try equal(lease.ref.id, key.id, "id")
            try equal(lease.ref.owner, ConformanceBench.bert, "owner")
            try equal(lease.ref.partition, bench.partition(of: key), "partition")
            try equal(lease.claimedAt, claim.now, "claimed at")
            try equal(lease.endsAt, claim.now + .milliseconds(12_345), "the end")
        },
        Case("every claim of an item raises its token") { bench in
            let key = try await bench.enqueued("1")
            var tokens: [Int] = []
            for _ in 0..<4 {
                let lease = try await bench.take(key)
                tokens.append(lease.ref.token)
                _ = try await bench.commit(lease, .next(after: .zero))
            }
            try bench.expect(
                zip(tokens, tokens.dropFirst()).allSatisfy { $0 < $1 },
                "tokens do not rise: \(tokens)"
            )
        },
        Case("a claim reports when the earliest waiting item is due") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            for key in keys { try await bench.enqueue(key) }
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            for (wait, lease) in zip([900, 400], leases) {
                _ = try await bench.commit(lease, .next(after: .milliseconds(wait)))
            }
            let idle = try await bench.claim(in: home)
            try equal(idle.nextReady, idle.now + .milliseconds(400), "next ready")
        },
        Case("a claim reports when the earliest lease ends if no item is waiting") { bench in
            let keys = [bench.key("1"), bench.key("2")]
            let home = bench.partition(of: keys[0])
            try await bench.enqueue(keys[0])
            let first = try await bench.claim(in: home, lease: .seconds(20))
            try equal(first.nextReady, first.now + .seconds(20), "after the first")
            try await bench.enqueue(keys[1])
            let second = try await bench.claim(in: home, lease: .seconds(5))
            try equal(second.nextReady, second.now + .seconds(5), "after the second")
        },
        Case("a claim that leaves due items behind is ready again at once") { bench in
            let keys = (0..<3).map { bench.key("\($0)") }
            for key in keys { try await bench.enqueue(key) }
            let claim = try await bench.claim(in: bench.partition(of: keys[0]), limit: 2)
            let ready = try bench.some(claim.nextReady, "next ready")
            try bench.expect(ready <= claim.now, "ready only at \(ready), now is \(claim.now)")
        },
        Case("an item whose lease expired is claimed with its old due time") { bench in
            let key = try await bench.enqueued("1")
            let lost = try await bench.take(key)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms) - 1)
            let early = try await bench.due(key, owner: ConformanceBench.bert)
            try equal(early, [], "due 1 ms before the end")
            try await bench.advance(ms: 1)
            let found = try await bench.take(key, owner: ConformanceBench.bert)
            try equal(found.due, lost.due, "due")
            try bench.expect(found.ref.token > lost.ref.token, "the token did not rise")
            try equal(found.item, lost.item, "the item")
        },
        Case("a released item keeps its due time and its data") { bench in
            let key = try await bench.enqueued("1")
            try await bench.advance(ms: 700)
            let lease = try await bench.take(key)
            try equal(try await bench.watches.release([lease.ref]), [.done], "release")
            let again = try await bench.take(key, owner: ConformanceBench.bert)
            try equal(again.due, lease.due, "due")
            try equal(again.item, lease.item, "the item")
        },
        Case("a wake comes when an item becomes due earlier than reported") { bench in
            let stream = bench.watches.wakes()
            let key = try await bench.enqueued("1")
            try await bench.isNotified(bench.partition(of: key), from: stream, "a wake") {
                try await bench.handle(key, .next(after: .seconds(60)))
                _ = try await bench.claim(in: bench.partition(of: key))
                _ = try await bench.watches.hint(key)
            }
        },
    ]
}
