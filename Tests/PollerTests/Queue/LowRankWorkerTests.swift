import PollerIdentity
import PollerTesting
import Testing

@testable import PollerQueue

@Suite("workers ranked low for a partition")
struct LowRankWorkerTests: InFlightSteps {
    @Test("a worker behind two others checks the partition every few seconds and ignores wakes")
    func lookingIn() throws {
        var schedule = schedule(partitions: 1, ahead: .milliseconds(20))
        schedule.stand(at: 5, now: at(0))
        let first = try exchange(&schedule, at: 0)
        schedule.answered(first, taken: 0, nextReady: .milliseconds(100), now: at(0))
        schedule.wake(partition: 0, now: at(10))
        #expect(schedule.next(now: at(4_999)) == nil)
        let second = try exchange(&schedule, at: 5_000)
        #expect(!second.isSafetyCheck)
        // A worker that finds items keeps helping until the partition is empty.
        schedule.answered(second, taken: 1, nextReady: .milliseconds(100), now: at(5_000))
        #expect(schedule.next(now: at(5_149)) == nil)
        let third = try exchange(&schedule, at: 5_150)
        schedule.answered(third, taken: 1, nextReady: nil, now: at(5_150))
    }

    @Test("a worker that rises in rank checks the partition as soon as a helper would")
    func comingNearer() throws {
        var schedule = schedule(partitions: 1, ahead: .milliseconds(20))
        schedule.stand(at: 90, now: at(0))
        let first = try exchange(&schedule, at: 0)
        schedule.answered(first, taken: 0, nextReady: nil, now: at(0))
        #expect(schedule.next(now: at(1_000)) == nil)
        schedule.stand(at: 2, now: at(1_000))
        #expect(schedule.next(now: at(1_999)) == nil)
        #expect(exchangeAll(&schedule, at: 2_000) == [0])
        schedule.stand(at: 0, now: at(2_100))
        #expect(exchangeAll(&schedule, at: 2_100) == [0])
    }

    @Test("with leases that are too short for it no worker ranks lower than a helper")
    func shortLeases() throws {
        var schedule = PartitionSchedule(
            partitions: 1,
            ahead: .milliseconds(20),
            lease: .seconds(3),
            now: at(0)
        )
        let owners = (0..<6).map { OwnerID(unchecked: "owner-\($0)") }
        let farthest = try #require(
            owners.first { PartitionAssignment(of: $0, among: owners, partitions: 1).ranks == [5] }
        )
        schedule.assign(PartitionAssignment(of: farthest, among: owners, partitions: 1), now: at(0))
        #expect(schedule.next(now: at(0), canClaim: true).count == 1)
        schedule.claiming(0)
        schedule.claimed(
            0,
            Claim<Int>(leases: [], now: Timestamp(ms: 0), nextReady: nil),
            now: at(0)
        )
        #expect(schedule.nextInstant(canClaim: true) == at(1_000))
    }

    @Test(
        "a lost claim is dated by the latest store time, even if the store's clock was set back"
    )
    func lostAfterAStep() throws {
        var schedule = PartitionSchedule(
            partitions: 1,
            ahead: .zero,
            lease: .seconds(12),
            now: at(0)
        )
        let request = ClaimRequest(partition: 0, limit: 1, lease: .seconds(12))
        for answeredAt in [10_000, 9_000] as [Int64] {
            #expect(schedule.next(now: at(0), canClaim: true).count == 1)
            schedule.claiming(0)
            let claim = Claim<Int>(
                leases: [],
                now: Timestamp(ms: answeredAt),
                nextReady: Timestamp(ms: answeredAt)
            )
            schedule.claimed(0, claim, now: at(-100))
        }
        let turn = try #require(schedule.next(now: at(0), canClaim: true).first)
        #expect(turn.lost(before: request) == nil)
        schedule.claiming(0)
        schedule.failed(0, hasResults: false, pause: .zero, now: at(0))
        let again = try #require(schedule.next(now: at(0), canClaim: true).first)
        #expect(again.lost(before: request)?.since == Timestamp(ms: 10_000))
        // A rejected claim took nothing, so there is nothing to recall.
        schedule.claiming(0)
        schedule.claimed(0, Claim<Int>?.none, now: at(-100))
    }
}
