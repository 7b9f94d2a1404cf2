import PollerTesting
import Testing

@testable import PollerPlanning
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

    @Test("a source without hints costs the polls of its policy's schedule")
    func schedule() {
        // From 1.5 s the wait doubles to 5 min: 18.4 polls until the 3,600th second, including the first. Changes are
        // evenly spread, so a source is polled for half an hour on average.
        let outcome = plan(.none)
        #expect((13.0...15.0).contains(outcome.getsPerSource), "\(outcome)")
        #expect(outcome.sweepsPerSource == 0 && outcome.unseen == 0 && outcome.stretch == 1)
        // Half of a wait of five minutes, or less after shorter waits.
        #expect((60.0...150.0).contains(outcome.knownMedianSeconds ?? -1), "\(outcome)")
        #expect((outcome.known99Seconds ?? 0) <= 330, "\(outcome)")
    }

    @Test("a healthy sweep reduces polls and delays, and webhooks reduce delays further")
    func hinted() {
        let alone = plan(.none, sources: 100_000)
        let swept = plan(.sweep, sources: 100_000)
        let posted = plan(.sweepAndWebhooks, sources: 100_000, sweepInterval: .seconds(20))
        #expect(swept.pollsPerSource < alone.pollsPerSource * 0.7, "\(swept)")
        #expect(swept.stretch == 8 && alone.stretch == 1)
        #expect((swept.known99Seconds ?? 99) < 4, "\(swept)")
        #expect((posted.known99Seconds ?? 99) < 4, "\(posted)")
        // For an account with few sources the sweep is too slow to reduce polls, but still finds changes.
        let few = plan(.sweep, sources: 10)
        #expect(few.stretch == 1 && few.sweepsPerSource > 100, "\(few)")
    }

    @Test("the sweep replaces lost webhooks")
    func lost() {
        let lost = plan(.sweepAndWebhooks, sources: 100_000, sweepInterval: .seconds(20), loss: 1)
        let swept = plan(.sweep, sources: 100_000, sweepInterval: .seconds(20))
        #expect((5.0...20.5).contains(lost.knownMedianSeconds ?? -1), "\(lost)")
        #expect(abs((lost.knownMedianSeconds ?? 0) - (swept.knownMedianSeconds ?? 99)) < 3)
    }

    @Test("a full lane is reported as full")
    func full() {
        // A hundredth of the rate that the first polls alone need.
        let lane = LaneLimit(ratePerSecond: 0.01, burst: 1, inFlightMax: 1)
        let outcome = plan(.none, sources: 3_000_000, lane: lane)
        #expect(outcome.unseen > 0.5 && outcome.knownMedianSeconds == nil, "\(outcome)")
        #expect(outcome.pollsPerSecond <= 0.02, "\(outcome)")
    }

    @Test("exceeding the read allowance slows polls down")
    func allowance() {
        // The smallest allowance is ten thousand reads. A sweep every second makes many more.
        let outcome = plan(.sweep, sources: 10, sweepInterval: .seconds(1))
        #expect(outcome.allowanceUsed > 1 && outcome.stretch == 8 * 16, "\(outcome)")
    }

    @Test("entries leave the queue in order of time, inserted in any order")
    func heap() {
        var queue = PlannedQueue()
        var generator = SeededGenerator(seed: 11)
        let times = (0..<500).map { _ in Int64.random(in: 0..<100, using: &generator) }
        for (item, due) in times.enumerated() {
            queue.push(PlannedQueue.Entry(due: due, item: item, number: 0))
        }
        var popped: [PlannedQueue.Entry] = []
        while let turn = queue.pop() { popped.append(turn) }
        #expect(popped.map(\.due) == times.sorted())
        #expect(Set(popped.map(\.item)).count == 500)
    }
}
