import PollerTesting
import Testing

@testable import Poller
@testable import PollerQueue

@Suite("InFlight")
struct InFlightTests: InFlightSteps {
    @Test("at the start every partition gets its claim, in turn")
    func start() {
        var schedule = schedule(partitions: 3)
        #expect(exchangeAll(&schedule, at: 0) == [0, 1, 2])
        #expect(schedule.nextInstant == at(1000))
    }

    @Test(
        "a partition is claimed again when it said it would be ready, within a second",
        arguments: [(400, 400), (5000, 1000), (0, 5)]
    )
    func nextReady(_ ready: Int, _ wanted: Int) throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 0, nextReady: .milliseconds(ready), now: at(0))
        #expect(schedule.nextInstant == at(wanted))
    }

    @Test("another limit of lanes goes with the next claim")
    func lanes() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        #expect(plan.claim?.lane == .unlimited)
        schedule.answered(plan, taken: 0, nextReady: nil, now: at(0))
        let wanted = LaneLimit(ratePerSecond: 7, burst: 2, inFlightMax: 3)
        schedule.limit(lanesTo: wanted)
        #expect(try exchange(&schedule, at: 1000).claim?.lane == wanted)
    }

    @Test("one that looks ahead claims 20 ms before something is ready")
    func ahead() throws {
        var schedule = schedule(ahead: .milliseconds(250))
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 1, nextReady: .milliseconds(400), now: at(0))
        #expect(schedule.nextInstant == at(380))
    }

    @Test("a claim that took something and left something is repeated at once")
    func leftovers() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 4, nextReady: .zero, now: at(0))
        #expect(schedule.next(now: at(0))?.limit == 6)
    }

    @Test("with everything in hand nothing is claimed until a result goes out")
    func concurrency() throws {
        var schedule = schedule(concurrency: 2)
        let first = try exchange(&schedule, at: 0)
        schedule.answered(first, taken: 2, nextReady: .zero, now: at(0))
        #expect(schedule.next(now: at(9)) == nil)
        #expect(schedule.nextInstant == nil)
        schedule.finished(partition: 0, isNews: true, now: at(9))
        let second = try exchange(&schedule, at: 9)
        #expect(second.results.count == 1)
        #expect(second.limit == 1)
    }

    @Test("what exchanges under way may take is not promised twice")
    func reserved() throws {
        var schedule = schedule(partitions: 3, concurrency: 200)
        for _ in 0..<3 { #expect(schedule.next(now: at(0))?.limit == 50) }
        #expect(schedule.free == 50)
        #expect(schedule.next(now: at(0)) == nil)
    }

    @Test("news goes out at once, other results gather for a moment")
    func gathering() {
        var schedule = schedule()
        _ = exchangeAll(&schedule, at: 0)
        schedule.finished(partition: 0, isNews: false, now: at(10))
        schedule.finished(partition: 0, isNews: false, now: at(12))
        #expect(schedule.next(now: at(24)) == nil)
        #expect(schedule.nextInstant == at(25))
        schedule.finished(partition: 0, isNews: true, now: at(12))
        #expect(schedule.next(now: at(12))?.results.count == 3)
    }

    @Test("while most places are taken and work is due results gather for less long")
    func gatheringWhileBusy() throws {
        var schedule = schedule(concurrency: 10)
        let plan = try exchange(&schedule, at: 0)
        schedule.answered(plan, taken: 10, nextReady: .zero, now: at(0))
        schedule.finished(partition: 0, isNews: false, now: at(10))
        #expect(schedule.nextInstant == at(13))
    }

    @Test("so many results are enough for an exchange at once")
    func enough() {
        var schedule = schedule(concurrency: 100)
        _ = exchangeAll(&schedule, at: 0)
        for _ in 0..<63 { schedule.finished(partition: 0, isNews: false, now: at(1)) }
        #expect(schedule.next(now: at(1)) == nil)
        schedule.finished(partition: 0, isNews: false, now: at(1))
        #expect(schedule.next(now: at(1))?.results.count == 64)
    }

    @Test("a result wakes the worker only when it must go before that would look by itself")
    func wakesForResults() throws {
        var schedule = schedule(concurrency: 100)
        _ = exchangeAll(&schedule, at: 0)
        #expect(schedule.finished(partition: 0, isNews: false, now: at(10)) == true)
        #expect(schedule.finished(partition: 0, isNews: false, now: at(12)) == false)
        #expect(schedule.finished(partition: 0, isNews: true, now: at(13)) == true)
        let next = try exchange(&schedule, at: 13)
        #expect(next.results.count == 3)
        // Its answer wakes the worker anyway.
        #expect(schedule.next(now: at(13)) == nil)
        #expect(schedule.finished(partition: 0, isNews: true, now: at(14)) == false)
    }

    @Test("a partition has one exchange at a time; results gather behind it")
    func oneAtATime() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.finished(partition: 0, isNews: true, now: at(0))
        #expect(schedule.next(now: at(0)) == nil)
        schedule.answered(plan, taken: 0, nextReady: nil, now: at(1))
        #expect(schedule.next(now: at(1))?.results.count == 1)
    }

    @Test("a wake makes its partition due, a lost one all of them")
    func wake() {
        var schedule = schedule(partitions: 3)
        _ = exchangeAll(&schedule, at: 0)
        schedule.wake(partition: 1, now: at(10))
        schedule.wake(partition: 7, now: at(10))
        #expect(exchangeAll(&schedule, at: 10) == [1])
        schedule.wake(partition: nil, now: at(10))
        #expect(Set(exchangeAll(&schedule, at: 10)) == [0, 1, 2])
    }

    @Test("a wake that comes while the claim is under way is not lost")
    func wakeDuringClaim() throws {
        var schedule = schedule()
        let plan = try exchange(&schedule, at: 0)
        schedule.wake(partition: 0, now: at(1))
        schedule.answered(plan, taken: 0, nextReady: nil, now: at(2))
        #expect(exchangeAll(&schedule, at: 2) == [0])
        #expect(schedule.next(now: at(3)) == nil)
    }

    @Test("a failed exchange is tried again after the pause, with what it carried")
    func failed() throws {
        var schedule = schedule(concurrency: 4)
        let first = try exchange(&schedule, at: 0)
        schedule.answered(first, taken: 3, nextReady: nil, now: at(0))
        for _ in 0..<3 { schedule.finished(partition: 0, isNews: true, now: at(0)) }
        let plan = try exchange(&schedule, at: 0)
        schedule.failed(plan, waiting: 2, now: at(0))
        #expect(schedule.next(now: at(19)) == nil)
        let again = try exchange(&schedule, at: 20)
        #expect(again.results.count == 2)
        #expect(again.limit == 4)
    }

    @Test("while nothing is claimed results still go out")
    func stopped() throws {
        var schedule = schedule()
        schedule.drain(now: at(0))
        #expect(schedule.next(now: at(0)) == nil)
        schedule.finished(partition: 0, isNews: true, now: at(0))
        let plan = try exchange(&schedule, at: 0)
        #expect(plan.limit == 0)
        #expect(plan.results.count == 1)
    }

    @Test("from a partition of somebody else we claim late, and only if it is late itself")
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

    @Test("a wake of somebody else's partition waits for its owner")
    func stealingAfterWake() {
        var schedule = schedule(partitions: 1)
        schedule.own([], now: at(0))
        _ = exchangeAll(&schedule, at: 0)
        schedule.wake(partition: 0, now: at(10))
        #expect(schedule.next(now: at(59)) == nil)
        #expect(exchangeAll(&schedule, at: 60) == [0])
    }

    @Test("where we met what only others can do we claim last for a minute, our own or not")
    func leaving() {
        var schedule = schedule(partitions: 1)
        _ = exchangeAll(&schedule, at: 0)
        schedule.leave(partition: 0, now: at(0))
        schedule.wake(partition: 0, now: at(10))
        #expect(schedule.next(now: at(109)) == nil)
        #expect(exchangeAll(&schedule, at: 110) == [0])
        schedule.wake(partition: 0, now: at(60_000))
        #expect(exchangeAll(&schedule, at: 60_000) == [0])
    }

    @Test("a partition that becomes ours is claimed from at once")
    func owning() {
        var schedule = schedule(partitions: 2)
        schedule.own([0], now: at(0))
        _ = exchangeAll(&schedule, at: 0)
        schedule.own([0, 1], now: at(10))
        #expect(exchangeAll(&schedule, at: 10) == [1])
    }

    @Test("the insurance alone is told from a time that was announced")
    func insurance() throws {
        var schedule = schedule()
        _ = exchangeAll(&schedule, at: 0)
        let insured = try exchange(&schedule, at: 1000)
        #expect(insured.isInsurance)
        schedule.answered(insured, taken: 0, nextReady: .milliseconds(100), now: at(1000))
        #expect(schedule.next(now: at(1100))?.isInsurance == false)
    }

    @Test("a busy partition does not keep the others from their turn")
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
