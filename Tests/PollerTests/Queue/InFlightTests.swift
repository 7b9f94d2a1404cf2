import PollerTesting
import Testing

@testable import PollerQueue

@Suite("InFlight")
struct InFlightTests: InFlightSteps {
    @Test("at the start every partition is claimed in turn")
    func start() {
        var schedule = schedule(partitions: 3)
        #expect(exchangeAll(&schedule, at: 0) == [0, 1, 2])
        #expect(schedule.nextInstant == at(1000))
    }

    @Test(
        "a partition is claimed again at its announced ready time, and within one second at the latest",
        arguments: [(400, 400), (5000, 1000), (0, 5)]
    )
    func nextReady(_ ready: Int, _ wanted: Int) throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 0, nextReady: .milliseconds(ready), now: at(0))
        #expect(schedule.nextInstant == at(wanted))
    }

    @Test("a changed lane limit is sent with the next claim")
    func lanes() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        #expect(plan.claim?.lane == .unlimited)
        schedule.answered(plan, taken: 0, nextReady: nil, now: at(0))
        let wanted = LaneLimit(ratePerSecond: 7, burst: 2, inFlightMax: 3)
        schedule.limit(lanesTo: wanted)
        #expect(try exchange(&schedule, at: 1000).claim?.lane == wanted)
    }

    @Test("a worker that claims ahead sends the claim 20 ms before an item is ready")
    func ahead() throws {
        var schedule = schedule(ahead: .milliseconds(250))
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 1, nextReady: .milliseconds(400), now: at(0))
        #expect(schedule.nextInstant == at(380))
    }

    @Test("a claim that took items and left others is repeated at once")
    func leftovers() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 4, nextReady: .zero, now: at(0))
        #expect(schedule.next(now: at(0))?.limit == 6)
    }

    @Test("a worker with all slots in use claims nothing until it sends a result")
    func concurrency() throws {
        var schedule = schedule(concurrency: 2)
        let first = try exchange(&schedule, at: 0)
        schedule.answered(first, taken: 2, nextReady: .zero, now: at(0))
        #expect(schedule.next(now: at(9)) == nil)
        #expect(schedule.nextInstant == nil)
        schedule.finished(partition: 0, commitsAtOnce: true, now: at(9))
        let second = try exchange(&schedule, at: 9)
        #expect(second.results.count == 1)
        #expect(second.limit == 1)
    }

    @Test("slots reserved by exchanges in flight are not promised twice")
    func reserved() throws {
        var schedule = schedule(partitions: 3, concurrency: 200)
        for _ in 0..<3 { #expect(schedule.next(now: at(0))?.limit == 50) }
        #expect(schedule.free == 50)
        #expect(schedule.next(now: at(0)) == nil)
    }

    @Test("changes are sent at once, and other results are gathered briefly")
    func gathering() {
        var schedule = schedule()
        _ = exchangeAll(&schedule, at: 0)
        schedule.finished(partition: 0, commitsAtOnce: false, now: at(10))
        schedule.finished(partition: 0, commitsAtOnce: false, now: at(12))
        #expect(schedule.next(now: at(24)) == nil)
        #expect(schedule.nextInstant == at(25))
        schedule.finished(partition: 0, commitsAtOnce: true, now: at(12))
        #expect(schedule.next(now: at(12))?.results.count == 3)
    }

    @Test("results are gathered for less time while most slots are in use and work is due")
    func gatheringWhileBusy() throws {
        var schedule = schedule(concurrency: 10)
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 10, nextReady: .zero, now: at(0))
        schedule.finished(partition: 0, commitsAtOnce: false, now: at(10))
        #expect(schedule.nextInstant == at(13))
    }

    @Test("64 results are enough for an exchange at once")
    func enough() {
        var schedule = schedule(concurrency: 100)
        _ = exchangeAll(&schedule, at: 0)
        for _ in 0..<63 { schedule.finished(partition: 0, commitsAtOnce: false, now: at(1)) }
        #expect(schedule.next(now: at(1)) == nil)
        schedule.finished(partition: 0, commitsAtOnce: false, now: at(1))
        #expect(schedule.next(now: at(1))?.results.count == 64)
    }

    @Test("a result wakes the worker only if it must be sent before the worker's next wake-up")
    func wakesForResults() throws {
        var schedule = schedule(concurrency: 100)
        _ = exchangeAll(&schedule, at: 0)
        #expect(schedule.finished(partition: 0, commitsAtOnce: false, now: at(10)) == true)
        #expect(schedule.finished(partition: 0, commitsAtOnce: false, now: at(12)) == false)
        #expect(schedule.finished(partition: 0, commitsAtOnce: true, now: at(13)) == true)
        let next = try exchange(&schedule, at: 13)
        #expect(next.results.count == 3)
        // The answer to the exchange wakes the worker anyway.
        #expect(schedule.next(now: at(13)) == nil)
        #expect(schedule.finished(partition: 0, commitsAtOnce: true, now: at(14)) == false)
    }

    @Test("a partition has one exchange at a time, and results wait behind it")
    func oneAtATime() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.finished(partition: 0, commitsAtOnce: true, now: at(0))
        #expect(schedule.next(now: at(0)) == nil)
        schedule.answered(plan, taken: 0, nextReady: nil, now: at(1))
        #expect(schedule.next(now: at(1))?.results.count == 1)
    }

    @Test("a wake makes its partition due, and a wake without a partition makes all partitions due")
    func wake() {
        var schedule = schedule(partitions: 3)
        _ = exchangeAll(&schedule, at: 0)
        schedule.wake(partition: 1, now: at(10))
        schedule.wake(partition: 7, now: at(10))
        #expect(exchangeAll(&schedule, at: 10) == [1])
        schedule.wake(partition: nil, now: at(10))
        #expect(Set(exchangeAll(&schedule, at: 10)) == [0, 1, 2])
    }

    @Test("a wake during a claim is not lost")
    func wakeDuringClaim() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.wake(partition: 0, now: at(1))
        schedule.answered(plan, taken: 0, nextReady: nil, now: at(2))
        #expect(exchangeAll(&schedule, at: 2) == [0])
        #expect(schedule.next(now: at(3)) == nil)
    }

    @Test("a failed exchange is retried with its results after the pause")
    func failed() throws {
        var schedule = schedule(concurrency: 4)
        let first = try exchange(&schedule, at: 0)
        schedule.answered(first, taken: 3, nextReady: nil, now: at(0))
        for _ in 0..<3 { schedule.finished(partition: 0, commitsAtOnce: true, now: at(0)) }
        let plan = try exchange(&schedule, at: 0)
        schedule.failed(plan, waiting: 2, now: at(0))
        #expect(schedule.next(now: at(19)) == nil)
        let again = try exchange(&schedule, at: 20)
        #expect(again.results.count == 2)
        #expect(again.limit == 4)
    }

    @Test("a draining worker still sends results")
    func stopped() throws {
        var schedule = schedule()
        schedule.drain(now: at(0))
        #expect(schedule.next(now: at(0)) == nil)
        schedule.finished(partition: 0, commitsAtOnce: true, now: at(0))
        let plan = try exchange(&schedule, at: 0)
        #expect(plan.limit == 0)
        #expect(plan.results.count == 1)
    }

    @Test("another worker's partition is claimed only if its items are late")
    func stealing() throws {
        var schedule = schedule(partitions: 2, concurrency: 100, ahead: .milliseconds(20))
        schedule.own([0], now: at(0))
        for _ in 0..<2 {
            let plan = try exchange(&schedule, at: 0)
            schedule.answered(plan, taken: 0, nextReady: .milliseconds(400), now: at(0))
        }
        #expect(schedule.next(now: at(396))?.partition == 0)
        #expect(schedule.next(now: at(449)) == nil)
        #expect(schedule.next(now: at(450))?.partition == 1)
    }

    @Test("a wake of another worker's partition is left to its owner first")
    func stealingAfterWake() {
        var schedule = schedule(partitions: 1)
        schedule.own([], now: at(0))
        _ = exchangeAll(&schedule, at: 0)
        schedule.wake(partition: 0, now: at(10))
        #expect(schedule.next(now: at(59)) == nil)
        #expect(exchangeAll(&schedule, at: 60) == [0])
    }

    @Test("for a minute a worker claims late from a partition with items that it cannot handle")
    func leaving() {
        var schedule = schedule(partitions: 1)
        _ = exchangeAll(&schedule, at: 0)
        schedule.deferToOthers(partition: 0, now: at(0))
        schedule.wake(partition: 0, now: at(10))
        #expect(schedule.next(now: at(109)) == nil)
        #expect(exchangeAll(&schedule, at: 110) == [0])
        schedule.wake(partition: 0, now: at(60_000))
        #expect(exchangeAll(&schedule, at: 60_000) == [0])
    }

    @Test("a newly owned partition is claimed at once")
    func owning() {
        var schedule = schedule(partitions: 2)
        schedule.own([0], now: at(0))
        _ = exchangeAll(&schedule, at: 0)
        schedule.own([0, 1], now: at(10))
        #expect(exchangeAll(&schedule, at: 10) == [1])
    }

    @Test("a safety check is distinguished from a claim at an announced time")
    func safetyCheck() throws {
        var schedule = schedule()
        _ = exchangeAll(&schedule, at: 0)
        let check = try exchange(&schedule, at: 1000)
        #expect(check.isSafetyCheck)
        schedule.answered(check, taken: 0, nextReady: .milliseconds(100), now: at(1000))
        #expect(schedule.next(now: at(1100))?.isSafetyCheck == false)
    }

    @Test("a busy partition does not delay the others")
    func fairness() {
        var schedule = schedule(partitions: 4, concurrency: 1000)
        var counts = [0, 0, 0, 0]
        for _ in 0..<40 {
            guard let next = schedule.next(now: at(0)) else { break }
            counts[next.partition] += 1
            schedule.answered(next, taken: 1, nextReady: .zero, now: at(0))
        }
        #expect(counts == [10, 10, 10, 10])
    }
}
