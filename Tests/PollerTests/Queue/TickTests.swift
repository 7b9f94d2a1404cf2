import PollerTesting
import Testing

@testable import PollerQueue

/// Exchanges of several partitions that are sent together.
@Suite("ticks")
struct TickTests {
    func at(_ ms: Int) -> ManualClock.Instant { .init(offset: .milliseconds(ms)) }

    /// Creates a worker that knows when each partition is ready next, with `nil` for an empty one.
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

    /// Returns the exchange that is due now, or fails the test.
    func exchange(
        _ rig: inout InFlightRig,
        _ now: ManualClock.Instant
    ) throws -> InFlightRig.Exchange {
        let exchange = rig.next(now: now)
        return try #require(exchange)
    }

    /// Answers the due exchanges with nothing more, and returns the number of results for each partition.
    func leave(_ rig: inout InFlightRig, at now: Int) -> [Int: Int] {
        var left: [Int: Int] = [:]
        for exchange in rig.leaving(now: at(now)) {
            left[exchange.partition] = exchange.results.count
            rig.answered(exchange, taken: 0, nextReady: nil, now: at(now))
        }
        return left
    }

    @Test("the exchanges of a process are sent together, at the last instant of the first one")
    func together() {
        var rig = rig(ready: [300, 320, 379, 381, nil])
        #expect(rig.nextInstant == at(280))
        // Exchanges due within the next 80 ms are sent as well. Later ones do not justify an exchange yet.
        #expect(leave(&rig, at: 280) == [0: 0, 1: 0, 2: 0])
        #expect(rig.nextInstant == at(361))
        #expect(leave(&rig, at: 361) == [3: 0])
    }

    @Test("results without a waiting caller wait for the tick and are sent together")
    func results() {
        var rig = rig(ready: [nil, nil, 190])
        rig.finished(partition: 0, commitsAtOnce: false, now: at(100))
        #expect(rig.nextInstant == at(170))
        rig.finished(partition: 1, commitsAtOnce: false, now: at(120))
        #expect(leave(&rig, at: 169) == [:])
        #expect(leave(&rig, at: 170) == [0: 1, 1: 1, 2: 0])
    }

    @Test("a result waits for at most 80 ms")
    func atMost() {
        var rig = rig(ready: [nil, nil])
        rig.finished(partition: 0, commitsAtOnce: false, now: at(100))
        rig.finished(partition: 1, commitsAtOnce: false, now: at(150))
        #expect(rig.nextInstant == at(180))
        #expect(leave(&rig, at: 180) == [0: 1, 1: 1])
    }

    @Test("the results of a tick wake the worker once")
    func oneWake() {
        var rig = rig(ready: Array(repeating: nil, count: 16))
        _ = rig.leaving(now: at(0))
        let woken = (0..<16).filter {
            rig.finished(partition: $0, commitsAtOnce: false, now: at(100 + $0))
        }
        #expect(woken == [0])
        #expect(rig.leaving(now: at(180)).count == 16)
        #expect(rig.leaving(now: at(180)).isEmpty)
    }

    @Test("a change is sent at once, with the other results of its partition only")
    func changes() {
        var rig = rig(ready: [nil, 150, nil])
        rig.finished(partition: 0, commitsAtOnce: false, now: at(100))
        rig.finished(partition: 2, commitsAtOnce: false, now: at(100))
        rig.finished(partition: 0, commitsAtOnce: true, now: at(101))
        #expect(leave(&rig, at: 101) == [0: 2])
        #expect(rig.nextInstant == at(130))
    }

    @Test("a wake causes an exchange of its partition only, at once")
    func wake() {
        var rig = rig(ready: [nil, 150])
        rig.finished(partition: 1, commitsAtOnce: false, now: at(100))
        rig.wake(partition: 0, now: at(101))
        #expect(leave(&rig, at: 101) == [0: 0])
    }

    @Test(
        "the result of a possibly marked item is sent at once, before or after the handler ends"
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

    @Test("a result of a full lane is sent soon, with the other results of its partition")
    func fullLane() throws {
        var rig = rig(ready: [nil, nil])
        rig.wake(partition: 0, now: at(10))
        let claim = try exchange(&rig, at(10))
        rig.answered(claim, taken: 2, nextReady: nil, isLaneFull: true, now: at(10))
        rig.finished(partition: 0, commitsAtOnce: false, now: at(20))
        rig.finishFirst(now: at(21))
        #expect(rig.nextInstant == at(36))
        #expect(leave(&rig, at: 36) == [0: 2])
    }

    @Test("items claimed ahead start at their own millisecond and hold no slot before")
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

    @Test("an item claimed ahead waits up to 3 ms and starts together with later items")
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
        #expect(rig.nextInstant == at(243))
        _ = rig.leaving(now: at(243))
        #expect(rig.started.count == 2)
    }

    @Test("only the due time after a wait of half a second or more is rounded, and only on request")
    func rounds() {
        func settings(roundsDueTimes: Bool) -> LeaseWorkerSettings {
            LeaseWorkerSettings(
                owner: Sample.owner,
                concurrency: 1,
                lease: .seconds(12),
                lane: .unlimited,
                drainTimeout: .seconds(1),
                roundsDueTimes: roundsDueTimes
            )
        }
        let rounding = settings(roundsDueTimes: true)
        #expect(rounding.roundsDueTime(of: .next(after: .milliseconds(500))))
        #expect(!rounding.roundsDueTime(of: .next(after: .milliseconds(499))))
        #expect(!rounding.roundsDueTime(of: .rest))
        let exact = settings(roundsDueTimes: false)
        #expect(!exact.roundsDueTime(of: .next(after: .seconds(60))))
    }

    @Test("sixteen items that are due together start without a further wait")
    func startsFullGroup() throws {
        var rig = rig(ready: [200], concurrency: 100)
        let claim = try exchange(&rig, at(180))
        rig.answered(
            claim,
            taken: 16,
            nextReady: .seconds(5),
            startsIn: .milliseconds(60),
            now: at(180)
        )
        #expect(rig.nextInstant == at(240))
    }

    @Test("an awake worker starts an item at its own millisecond, but never earlier")
    func startsWhenAwake() throws {
        var rig = rig(ready: [200])
        let claim = try exchange(&rig, at(180))
        rig.answered(
            claim,
            taken: 1,
            nextReady: .seconds(5),
            startsIn: .milliseconds(60),
            now: at(180)
        )
        _ = rig.leaving(now: at(239))
        #expect(rig.started.isEmpty)
        _ = rig.leaving(now: at(240))
        #expect(rig.started.count == 1)
    }

    @Test("items held ahead never exceed the limit")
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

    @Test("an item that has waited a second for a slot is released")
    func released() throws {
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

    @Test("a busy worker claims ahead only for its free slots")
    func busy() throws {
        var rig = rig(ready: [nil, 200], concurrency: 10)
        rig.wake(partition: 0, now: at(10))
        let claim = try exchange(&rig, at(10))
        rig.answered(claim, taken: 6, nextReady: nil, now: at(10))
        let ahead = try exchange(&rig, at(180))
        #expect(ahead.limit == 4)
    }

    @Test("the wait for the tick counts towards the wait for the next poll")
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

    @Test("claims from another worker's partition take only due items")
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
    /// The recorded waits for the next poll.
    var waits: [Duration] {
        results.compactMap {
            guard case .commit(let commit) = $0.operation, case .next(let wait) = commit.verdict
            else {
                return nil
            }
            return wait
        }
    }
}
