import PollerTesting
import Testing

@testable import Poller
@testable import PollerQueue

@Suite("Planned months")
struct PlannedMonthTests {
    func plan(
        _ hints: PlannedTraffic.Hints,
        sources: Int = 1000,
        life: Duration = .seconds(3600),
        lane: LaneLimit = .stripe,
        sweepInterval: Duration? = nil,
        loss: Double = 0
    ) -> PlannedOutcome {
        let traffic = PlannedTraffic(
            sourcesPerMonth: sources,
            life: life,
            hints: hints,
            lane: lane,
            sweepInterval: sweepInterval,
            webhookLoss: loss
        )
        var month = PlannedMonth(traffic, sourcesMax: 500, using: SeededGenerator(seed: 3))
        return month.run()
    }

    @Test("a source that is never told about costs what its policy's schedule says")
    func schedule() {
        // 1.5 s doubling to 5 min: 18.4 looks until the 3,600th second, the first one included.
        // Changes come evenly, so that a source is looked at until half an hour on average.
        let outcome = plan(.none)
        #expect((13.0...15.0).contains(outcome.getsPerSource), "\(outcome)")
        #expect(outcome.sweepsPerSource == 0 && outcome.unseen == 0 && outcome.stretch == 1)
        // Half of a wait of five minutes, less where the wait was shorter.
        #expect((60.0...150.0).contains(outcome.knownMedianSeconds ?? -1), "\(outcome)")
        #expect((outcome.known99Seconds ?? 0) <= 330, "\(outcome)")
    }

    @Test("a healthy sweep makes polls rarer and knowledge quicker; webhooks quicker still")
    func hinted() {
        let alone = plan(.none, sources: 100_000)
        let swept = plan(.sweep, sources: 100_000)
        let posted = plan(.sweepAndWebhooks, sources: 100_000, sweepInterval: .seconds(20))
        #expect(swept.pollsPerSource < alone.pollsPerSource * 0.7, "\(swept)")
        #expect(swept.stretch == 8 && alone.stretch == 1)
        #expect((swept.known99Seconds ?? 99) < 4, "\(swept)")
        #expect((posted.known99Seconds ?? 99) < 4, "\(posted)")
        // Of an account with few sources the sweep is too slow to be waited for, and still tells.
        let few = plan(.sweep, sources: 10)
        #expect(few.stretch == 1 && few.sweepsPerSource > 100, "\(few)")
    }

    @Test("webhooks that are lost are made good by the sweep")
    func lost() {
        let lost = plan(.sweepAndWebhooks, sources: 100_000, sweepInterval: .seconds(20), loss: 1)
        let swept = plan(.sweep, sources: 100_000, sweepInterval: .seconds(20))
        #expect((5.0...20.5).contains(lost.knownMedianSeconds ?? -1), "\(lost)")
        #expect(abs((lost.knownMedianSeconds ?? 0) - (swept.knownMedianSeconds ?? 99)) < 3)
    }

    @Test("a lane that is full is told as such, and not by a formula's good hope")
    func full() {
        // A hundredth of the rate that the first looks alone would need.
        let lane = LaneLimit(ratePerSecond: 0.01, burst: 1, inFlightMax: 1)
        let outcome = plan(.none, sources: 3_000_000, lane: lane)
        #expect(outcome.unseen > 0.5 && outcome.knownMedianSeconds == nil, "\(outcome)")
        #expect(outcome.pollsPerSecond <= 0.02, "\(outcome)")
    }

    @Test("more reads than the allowance slow the polls down")
    func allowance() {
        // Ten thousand reads are the least that is allowed; sweeps every second take many more.
        let outcome = plan(.sweep, sources: 10, sweepInterval: .seconds(1))
        #expect(outcome.allowanceUsed > 1 && outcome.stretch == 8 * 16, "\(outcome)")
    }

    @Test("turns come in order of time, whatever order they were given in")
    func heap() {
        var queue = PlannedQueue()
        var chance = SeededGenerator(seed: 11)
        let times = (0..<500).map { _ in Int64.random(in: 0..<100, using: &chance) }
        for (item, due) in times.enumerated() {
            queue.push(PlannedQueue.Turn(due: due, item: item, number: 0))
        }
        var popped: [PlannedQueue.Turn] = []
        while let turn = queue.pop() { popped.append(turn) }
        #expect(popped.map(\.due) == times.sorted())
        #expect(Set(popped.map(\.item)).count == 500)
    }
}
