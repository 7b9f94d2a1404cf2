import PollerTesting
import Testing

@testable import Poller

@Suite("ClaimSchedule")
struct ClaimScheduleTests {
    typealias Schedule = ClaimSchedule<ManualClock.Instant>

    func at(_ ms: Int) -> ManualClock.Instant { .init(offset: .milliseconds(ms)) }

    @Test("at the start every partition gets its claim, in turn")
    func start() {
        var schedule = Schedule(partitions: 3, concurrency: 10, now: at(0))
        var order: [Int] = []
        while let next = schedule.due(now: at(0)) {
            order.append(next.partition)
            #expect(next.limit == 10)
            schedule.claimed(partition: next.partition, taken: 0, nextReady: nil, now: at(0))
        }
        #expect(order == [0, 1, 2])
        #expect(schedule.nextInstant == at(1000))
    }

    @Test("a partition is claimed again when it said it would be ready, within a second")
    func nextReady() {
        var schedule = Schedule(partitions: 1, concurrency: 10, now: at(0))
        for (ready, wanted) in [(400, 400), (5000, 1000), (0, 5)] {
            _ = schedule.due(now: at(0))
            schedule.claimed(partition: 0, taken: 0, nextReady: .milliseconds(ready), now: at(0))
            #expect(schedule.nextInstant == at(wanted))
            schedule.wake(partition: 0, now: at(0))
        }
    }

    @Test("a claim that took something and left something is repeated at once")
    func leftovers() {
        var schedule = Schedule(partitions: 1, concurrency: 10, now: at(0))
        _ = schedule.due(now: at(0))
        schedule.claimed(partition: 0, taken: 4, nextReady: .zero, now: at(0))
        #expect(schedule.due(now: at(0))?.limit == 6)
    }

    @Test("with everything in flight nothing is due until an item is done")
    func concurrency() {
        var schedule = Schedule(partitions: 1, concurrency: 2, now: at(0))
        _ = schedule.due(now: at(0))
        schedule.claimed(partition: 0, taken: 2, nextReady: .zero, now: at(0))
        #expect(schedule.due(now: at(9)) == nil)
        #expect(schedule.nextInstant == nil)
        schedule.finished()
        #expect(schedule.due(now: at(9))?.limit == 1)
    }

    @Test("a claim asks for 128 items at most")
    func claimMax() {
        var schedule = Schedule(partitions: 1, concurrency: 5000, now: at(0))
        #expect(schedule.due(now: at(0))?.limit == 128)
    }

    @Test("a wake makes its partition due, a lost one all of them")
    func wake() {
        var schedule = Schedule(partitions: 3, concurrency: 1, now: at(0))
        for partition in 0..<3 {
            schedule.claimed(partition: partition, taken: 0, nextReady: nil, now: at(0))
        }
        #expect(schedule.due(now: at(10)) == nil)
        schedule.wake(partition: 1, now: at(10))
        schedule.wake(partition: 7, now: at(10))
        #expect(schedule.due(now: at(10))?.partition == 1)
        schedule.claimed(partition: 1, taken: 0, nextReady: nil, now: at(10))
        #expect(schedule.due(now: at(10)) == nil)
        schedule.wake(partition: nil, now: at(10))
        var found: Set<Int> = []
        while let next = schedule.due(now: at(10)) {
            found.insert(next.partition)
            schedule.claimed(partition: next.partition, taken: 0, nextReady: nil, now: at(10))
        }
        #expect(found == [0, 1, 2])
    }

    @Test("a wake that comes while the claim is under way is not lost")
    func wakeDuringClaim() {
        var schedule = Schedule(partitions: 1, concurrency: 1, now: at(0))
        _ = schedule.due(now: at(0))
        schedule.wake(partition: 0, now: at(1))
        schedule.claimed(partition: 0, taken: 0, nextReady: nil, now: at(2))
        #expect(schedule.due(now: at(2))?.partition == 0)
        schedule.claimed(partition: 0, taken: 0, nextReady: nil, now: at(3))
        #expect(schedule.due(now: at(3)) == nil)
    }

    @Test("a failed claim is tried again after the pause")
    func failed() {
        var schedule = Schedule(partitions: 1, concurrency: 1, now: at(0))
        _ = schedule.due(now: at(0))
        schedule.failed(partition: 0, pause: .seconds(1), now: at(0))
        #expect(schedule.due(now: at(999)) == nil)
        #expect(schedule.due(now: at(1000))?.partition == 0)
    }

    @Test("a busy partition does not keep the others from their turn")
    func fairness() {
        var schedule = Schedule(partitions: 4, concurrency: 1000, now: at(0))
        var counts = [0, 0, 0, 0]
        for _ in 0..<40 {
            guard let next = schedule.due(now: at(0)) else { break }
            counts[next.partition] += 1
            schedule.claimed(partition: next.partition, taken: 1, nextReady: .zero, now: at(0))
        }
        #expect(counts == [10, 10, 10, 10])
    }
}
