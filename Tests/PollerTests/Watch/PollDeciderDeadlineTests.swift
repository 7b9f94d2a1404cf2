import PollerTesting
import Testing

@testable import Poller

@Suite("PollDecider at the deadline")
struct PollDeciderDeadlineTests {
    let start = VirtualTime.start
    /// An hour; the grace is six minutes.
    let watch = Sample.watch(status: "pending", step: 9)

    func decide(_ result: PollResult, at now: Duration) -> PollDecision {
        var chance = SeededGenerator(seed: 7)
        return PollDecider().decide(
            watch,
            result,
            due: start + now,
            polledAt: start + now,
            now: start + now,
            using: &chance
        )
    }

    @Test("the last look is due exactly at the deadline")
    func onTime() {
        #expect(decide(.pending, at: .seconds(3590)).verdict == .next(after: .seconds(10)))
    }

    @Test("a last look that sees nothing new closes as expired and says so")
    func expired() throws {
        let decision = decide(.pending, at: .seconds(3600))
        #expect(decision.verdict == .close(.expired))
        let event = try #require(decision.change.event)
        #expect(event.type == "watch.expired")
        #expect(event.closed == .expired && !event.final)
        #expect(event.status?.description == "pending")
    }

    @Test("a look that begins before the deadline does not close the watch")
    func straddling() {
        var chance = SeededGenerator(seed: 7)
        let decision = PollDecider().decide(
            watch,
            .pending,
            due: start + .seconds(3598),
            polledAt: start + .seconds(3599),
            now: start + .seconds(3603),
            using: &chance
        )
        #expect(decision.verdict == .next(after: .zero))
    }

    @Test("a change at the deadline is recorded and followed by one more look")
    func changeAtDeadline() throws {
        let decision = decide(.status("chargeable"), at: .seconds(3600))
        #expect(decision.verdict == .next(after: .zero))
        #expect(try #require(decision.change.event).type == "source.chargeable")
    }

    @Test(
        "without an answer the watch lives on for its grace, then expires",
        arguments: [
            PollResult.unavailable("503", retryAfter: nil), .lockTimeout,
            .rateLimited(retryAfter: nil), .unauthorized("401"),
        ]
    )
    func grace(_ result: PollResult) throws {
        for second in [3600, 3959] {
            let now = Duration.seconds(second)
            let decision = decide(result, at: now)
            guard case .next(let after) = decision.verdict else {
                Issue.record("closed at \(second) s")
                continue
            }
            #expect(now + after <= .seconds(3960))
            #expect(decision.change.event == nil)
        }
        let decision = decide(result, at: .seconds(3960))
        #expect(decision.verdict == .close(.expired))
        let event = try #require(decision.change.event)
        #expect(event.type == "watch.expired")
        #expect(event.status?.description == "pending")
        #expect(decision.change.lastError != nil)
    }

    @Test("the grace is a tenth of the timeout, ten minutes at most")
    func graceSpan() {
        #expect(PollDecider.grace(timeout: .seconds(100)) == .seconds(10))
        #expect(PollDecider.grace(timeout: .seconds(86_400)) == .seconds(600))
    }
}
