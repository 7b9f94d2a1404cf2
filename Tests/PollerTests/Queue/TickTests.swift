import PollerTesting
import Testing

@testable import Poller
@testable import PollerQueue

/// Partitions whose exchanges leave together.
@Suite("ticks")
struct TickTests {
    func at(_ ms: Int) -> ManualClock.Instant { .init(offset: .milliseconds(ms)) }

    /// A worker that has heard of each partition when it is ready next; nil: nothing waits in it.
    func rig(ready: [Int?], concurrency: Int = 100) -> InFlightRig {
        var rig = InFlightRig(
            partitions: ready.count,
            concurrency: concurrency,
            ahead: .milliseconds(100),
            now: at(0)
        )
        for exchange in rig.leaving(now: at(0)) {
            let next = ready[exchange.partition].map { Duration.milliseconds($0) }
            rig.answered(exchange, taken: 0, nextReady: next, now: at(0))
        }
        return rig
    }

    /// The exchange that must leave now.
    func exchange(
        _ rig: inout InFlightRig,
        _ now: ManualClock.Instant
    ) throws -> InFlightRig.Exchange {
        let exchange = rig.next(now: now)
        return try #require(exchange)
    }

    /// Answers what leaves now, with nothing more to come; the partitions and how many results of each.
    func leave(_ rig: inout InFlightRig, at now: Int) -> [Int: Int] {
        var left: [Int: Int] = [:]
        for exchange in rig.leaving(now: at(now)) {
            left[exchange.partition] = exchange.results.count
            rig.answered(exchange, taken: 0, nextReady: nil, now: at(now))
        }
        return left
    }

    @Test("the partitions of a process leave together, at the last instant of the first")
    func together() {
        var rig = rig(ready: [300, 320, 379, 381, nil])
        #expect(rig.nextInstant == at(280))
        // What follows within 80 ms goes along; the rest is not worth a visit yet.
        #expect(leave(&rig, at: 280) == [0: 0, 1: 0, 2: 0])
        #expect(rig.nextInstant == at(361))
        #expect(leave(&rig, at: 361) == [3: 0])
    }

    @Test("results that nobody waits for wait for the tick, and then go with all others")
    func results() {
        var rig = rig(ready: [nil, nil, 190])
        rig.finished(partition: 0, isNews: false, now: at(100))
        #expect(rig.nextInstant == at(170))
        rig.finished(partition: 1, isNews: false, now: at(120))
        #expect(leave(&rig, at: 169) == [:])
        #expect(leave(&rig, at: 170) == [0: 1, 1: 1, 2: 0])
    }

    @Test("a result waits for 80 ms at most")
    func atMost() {
        var rig = rig(ready: [nil, nil])
        rig.finished(partition: 0, isNews: false, now: at(100))
        rig.finished(partition: 1, isNews: false, now: at(150))
        #expect(rig.nextInstant == at(180))
        #expect(leave(&rig, at: 180) == [0: 1, 1: 1])
    }

    @Test("many results of a tick wake the worker once")
    func oneWake() {
        var rig = rig(ready: Array(repeating: nil, count: 16))
        _ = rig.leaving(now: at(0))
        let woken = (0..<16).filter {
            rig.finished(partition: $0, isNews: false, now: at(100 + $0))
        }
        #expect(woken == [0])
        #expect(rig.leaving(now: at(180)).count == 16)
        #expect(rig.leaving(now: at(180)).isEmpty)
    }

    @Test("news goes at once, alone, with what waits in its partition")
    func news() {
        var rig = rig(ready: [nil, 150, nil])
        rig.finished(partition: 0, isNews: false, now: at(100))
        rig.finished(partition: 2, isNews: false, now: at(100))
        rig.finished(partition: 0, isNews: true, now: at(101))
        #expect(leave(&rig, at: 101) == [0: 2])
        #expect(rig.nextInstant == at(130))
    }

    @Test("a wake is acted on at once, alone")
    func wake() {
        var rig = rig(ready: [nil, 150])
        rig.finished(partition: 1, isNews: false, now: at(100))
        rig.wake(partition: 0, now: at(101))
        #expect(leave(&rig, at: 101) == [0: 0])
    }

    @Test(
        "the result of what may have been marked goes at once, whether it waits or is still to come"
    )
    func marked() throws {
        var rig = rig(ready: [nil, nil])
        rig.wake(partition: 0, now: at(10))
        let claim = try exchange(&rig, at(10))
        rig.answered(claim, taken: 2, nextReady: nil, now: at(10))
        rig.finishFirst(now: at(20))
        #expect(rig.nextInstant == at(100))
        rig.wake(partition: 1, now: at(25))
        #expect(leave(&rig, at: 25) == [1: 0], "a wake is for a claim alone")
        rig.marked(partition: 0, now: at(30))
        #expect(leave(&rig, at: 30) == [0: 1])
        rig.finishFirst(now: at(40))
        #expect(leave(&rig, at: 40) == [0: 1])
    }

    @Test("a result of a lane without a slot left goes soon, others of its partition with it")
    func fullLane() throws {
        var rig = rig(ready: [nil, nil])
        rig.wake(partition: 0, now: at(10))
        let claim = try exchange(&rig, at(10))
        rig.answered(claim, taken: 2, nextReady: nil, isLaneFull: true, now: at(10))
        rig.finished(partition: 0, isNews: false, now: at(20))
        rig.finishFirst(now: at(21))
        #expect(rig.nextInstant == at(36))
        #expect(leave(&rig, at: 36) == [0: 2])
    }

    @Test("items claimed ahead start at their own millisecond and take no place before")
    func heldAhead() throws {
        var rig = rig(ready: [200], concurrency: 16)
        #expect(rig.nextInstant == at(180))
        let claim = try exchange(&rig, at(180))
        #expect(claim.limit == 32, "more than there are places: half of what may be held ahead")
        rig.answered(
            claim,
            taken: 20,
            nextReady: .seconds(5),
            startsIn: .milliseconds(60),
            now: at(180)
        )
        #expect(rig.free == 16)
        #expect(rig.nextInstant == at(240))
        _ = rig.leaving(now: at(239))
        #expect(rig.started.isEmpty)
        _ = rig.leaving(now: at(240))
        #expect(rig.started.count == 16, "no more handlers run than there are places")
        let isWoken = rig.finishFirst(now: at(250))
        #expect(isWoken, "one whose time has come waits for the place")
        _ = rig.leaving(now: at(250))
        #expect(rig.started.count == 16)
    }

    @Test("an item starts at its own millisecond, and what follows within three gathers")
    func gathers() throws {
        var rig = rig(ready: [200, 200])
        for (exchange, startsIn) in zip(rig.leaving(now: at(180)), [60, 61]) {
            rig.answered(
                exchange,
                taken: 1,
                nextReady: .seconds(5),
                startsIn: .milliseconds(startsIn),
                now: at(180)
            )
        }
        #expect(rig.nextInstant == at(240))
        _ = rig.leaving(now: at(240))
        #expect(rig.started.count == 1)
        #expect(rig.nextInstant == at(243))
        _ = rig.leaving(now: at(243))
        #expect(rig.started.count == 2)
    }

    @Test("no more is held ahead than the bound, whatever each claim brings")
    func bound() throws {
        var rig = rig(ready: [200], concurrency: 2)
        var held = 0
        for _ in 0..<20 {
            guard let claim = rig.next(now: at(180)) else { break }
            held += claim.limit
            rig.answered(
                claim,
                taken: claim.limit,
                nextReady: .milliseconds(50),
                startsIn: .milliseconds(50),
                now: at(180)
            )
        }
        #expect(held == 8)
    }

    @Test("what has waited a second for a place is given back")
    func givenBack() throws {
        var rig = rig(ready: [200], concurrency: 2)
        let claim = try exchange(&rig, at(180))
        rig.answered(
            claim,
            taken: 4,
            nextReady: .seconds(5),
            startsIn: .milliseconds(20),
            now: at(180)
        )
        _ = rig.leaving(now: at(200))
        #expect(rig.started.count == 2)
        #expect(rig.nextInstant == at(1200))
        #expect(leave(&rig, at: 1199) == [:])
        #expect(leave(&rig, at: 1200) == [0: 2])
    }

    @Test("a busy worker claims ahead no more than it has places for")
    func busy() throws {
        var rig = rig(ready: [nil, 200], concurrency: 10)
        rig.wake(partition: 0, now: at(10))
        let claim = try exchange(&rig, at(10))
        rig.answered(claim, taken: 6, nextReady: nil, now: at(10))
        let ahead = try exchange(&rig, at(180))
        #expect(ahead.limit == 4)
    }

    @Test("the wait for company is part of the wait for the next look")
    func ownDueTime() throws {
        var rig = rig(ready: [nil])
        rig.wake(partition: 0, now: at(10))
        let claim = try exchange(&rig, at(10))
        rig.answered(claim, taken: 2, nextReady: nil, now: at(10))
        rig.finishFirst(next: .seconds(1), now: at(100))
        rig.finishFirst(next: .milliseconds(20), now: at(130))
        let first = try exchange(&rig, at(180))
        #expect(first.waits == [.milliseconds(920), .zero])
        rig.failed(first, waiting: 2, now: at(180))
        let again = try exchange(&rig, at(200))
        #expect(again.waits == [.milliseconds(900), .zero])
    }

    @Test("from a partition of somebody else only what is due is claimed")
    func helping() throws {
        var rig = InFlightRig(
            partitions: 2,
            concurrency: 100,
            ahead: .milliseconds(100),
            now: at(0)
        )
        rig.own([0], now: at(0))
        for exchange in rig.leaving(now: at(0)) {
            rig.answered(exchange, taken: 0, nextReady: .milliseconds(200), now: at(0))
        }
        #expect(rig.next(now: at(180))?.claim?.ahead == .milliseconds(100))
        #expect(rig.next(now: at(249)) == nil)
        #expect(rig.next(now: at(250))?.claim?.ahead == .zero)
    }
}

extension Exchange {
    /// The waits for the next look that it records.
    var waits: [Duration] {
        results.compactMap {
            guard case .commit(let commit) = $0.word, case .next(let wait) = commit.verdict else {
                return nil
            }
            return wait
        }
    }
}
