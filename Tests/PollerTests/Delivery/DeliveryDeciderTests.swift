import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("DeliveryDecider")
struct DeliveryDeciderTests {
    private let now = VirtualTime.start + .seconds(60)
    private let event = Sample.event(seq: 4)
    private let schedule = RetrySchedule(waits: [.seconds(10), .seconds(100)])
    private let probed = LaneOutage(failures: 10, since: VirtualTime.start)

    private func decide(
        _ state: DeliveryState,
        _ result: AttemptResult,
        outage: LaneOutage? = nil,
        more: Bool = false,
        schedule: RetrySchedule? = nil,
        notifyBy: Duration? = nil,
        at now: Timestamp? = nil
    ) -> DeliveryDecision {
        var generator = SeededGenerator(seed: 1)
        return DeliveryDecider(schedule: schedule ?? self.schedule, notifyBy: notifyBy).decide(
            state,
            event,
            result,
            outage: outage,
            more: more,
            now: now ?? self.now,
            generator: &generator
        )
    }

    @Test("an accepted event advances the cursor and marks the endpoint as healthy")
    func delivered() {
        let done = decide(DeliveryState(cursor: 3, failures: 2, attempts: 7), .delivered)
        #expect(done.state == DeliveryState(cursor: 4, attempts: 8, cursorDigest: event.digest))
        #expect(done.verdict == .rest && done.signal == .fine && done.outcome == .delivered)
    }

    @Test("a failed delivery counts against its endpoint")
    func failing() {
        let done = decide(DeliveryState(cursor: 3), .failed("500"))
        #expect(done.signal == .erring && done.outcome == .failed)
        let silent = decide(DeliveryState(cursor: 3), .failed("no answer in time", .timeout))
        #expect(silent.signal == .failing, "which is told apart from one that answers")
        #expect(done.state.failures == 1 && done.state.failedSince == now)
    }

    @Test(
        "regression 13: Retry-After pauses the endpoint, for up to an hour",
        arguments: [
            (Duration.seconds(300), LaneSignal.hold(.seconds(300))), (.zero, .erring),
            (.seconds(999_999), .hold(.seconds(3600))),
        ]
    )
    func retryAfter(wish: Duration, signal: LaneSignal) {
        let done = decide(DeliveryState(), .failed("429", .rateLimited, after: wish))
        #expect(done.signal == signal)
    }

    @Test("a failed probe of an open circuit uses no step of the schedule")
    func probe() {
        let before = DeliveryState(cursor: 3, failures: 1, attempts: 5)
        let done = decide(before, .failed("500"), outage: probed)
        #expect(done.state.failures == 1 && done.outcome == .failed)
        #expect(done.signal == .erring)
        // The delivery goes behind the others, so one bad event is not the only probe.
        #expect((done.wait ?? .zero) >= .seconds(8))
    }

    @Test("a probe that fails after the whole span of the schedule is the last attempt")
    func lastProbe() {
        let before = DeliveryState(cursor: 3, failures: 1, failedSince: VirtualTime.start)
        let late = VirtualTime.start + schedule.span
        #expect(decide(before, .failed("500"), outage: probed, at: late).outcome == .deadLettered)
        let early = late + .milliseconds(-1)
        #expect(decide(before, .failed("500"), outage: probed, at: early).outcome == .failed)
    }

    @Test("an event that outlives its schedule behind an open circuit is dead-lettered unsent")
    func deadLetterIfExpired() {
        let decider = DeliveryDecider(schedule: schedule)
        func deadLetterIfExpired(_ outage: LaneOutage?, at now: Timestamp) -> DeliveryDecision? {
            decider.deadLetterIfExpired(
                DeliveryState(),
                event,
                outage: outage,
                more: false,
                now: now
            )
        }
        let late = event.polledAt + schedule.span + .milliseconds(1)
        let done = deadLetterIfExpired(probed, at: late)
        #expect(done?.outcome == .deadLettered && done?.state.dead == [4])
        // This result is no evidence about the endpoint, so the next delivery may probe at once.
        #expect(done?.signal == .hold(.zero))
        #expect(deadLetterIfExpired(probed, at: event.polledAt + schedule.span) == nil)
        #expect(
            deadLetterIfExpired(LaneOutage(failures: 9, since: VirtualTime.start), at: late) == nil
        )
        #expect(deadLetterIfExpired(nil, at: late) == nil)
        let recent = LaneOutage(failures: 10, since: late + .seconds(-60))
        #expect(
            deadLetterIfExpired(recent, at: late) == nil,
            "the endpoint was well until a minute ago"
        )
    }

    @Test("a dead letter is remembered, and a delivery with nothing else pending is set aside")
    func givesUp() {
        let before = DeliveryState(cursor: 3, failures: 2, attempts: 2, dead: [1])
        let done = decide(before, .failed("500"))
        let cursorDigest = event.digest
        #expect(
            done.state
                == DeliveryState(cursor: 4, attempts: 3, dead: [1, 4], cursorDigest: cursorDigest)
        )
        #expect(done.verdict == .setAside && done.outcome == .deadLettered)
        #expect(decide(before, .failed("500"), more: true).verdict == .next(after: .zero))
    }

    @Test("410 pauses the endpoint")
    func gone() {
        let done = decide(DeliveryState(), .rejected("410", .gone))
        #expect(done.signal == .refused(.seconds(3600)))
        #expect(done.outcome == .rejected && done.state.dead == [4])
    }

    @Test("local errors and refusals of one message are not evidence about the endpoint")
    func silent() {
        #expect(decide(DeliveryState(), .failed("no secret", .local)).signal == .hold(.zero))
        #expect(decide(DeliveryState(), .failed("?", .poison)).signal == .hold(.zero))
        #expect(decide(DeliveryState(), .rejected("550", .refused)).signal == .fine)
    }

    @Test("a local error uses no attempt and is retried soon, also without a schedule")
    func ownError() {
        let unread = AttemptResult.failed("the watch cannot be read", .local)
        let none = RetrySchedule(waits: [])
        for outage in [nil, probed] {
            let state = DeliveryState(cursor: 3, failedSince: VirtualTime.start)
            let done = decide(state, unread, outage: outage, schedule: none)
            #expect(done.outcome == .failed && done.signal == .hold(.zero))
            #expect(done.state.failures == 0 && done.state.failedSince == VirtualTime.start)
            let wait = done.wait ?? .zero
            #expect(wait >= .seconds(24) && wait <= .seconds(36))
            #expect(done.state.retryAt == now + wait)
        }
        let early = decide(DeliveryState(cursor: 3), unread)
        #expect((early.wait ?? .zero) <= .seconds(12), "the schedule's own wait is shorter")
        let late = decide(DeliveryState(cursor: 3, failures: 2), unread)
        #expect(late.outcome == .failed && late.state.failures == 2)
        #expect((late.wait ?? .zero) <= .seconds(36))
    }

    @Test("local errors count after the span of the webhook schedule")
    func longOwnError() {
        let unread = AttemptResult.failed("the watch cannot be read", .local)
        let state = DeliveryState(cursor: 3, failedSince: VirtualTime.start)
        let end = VirtualTime.start + RetrySchedule.webhook.span
        let soon = decide(state, unread, at: end + .milliseconds(-1))
        #expect(soon.outcome == .failed && soon.state.failures == 0)
        // An endpoint that failed long ago, and was disabled since, keeps the rest of its schedule.
        let counted = decide(state, unread, at: end)
        #expect(counted.outcome == .failed && counted.state.failures == 1)
        let last = DeliveryState(cursor: 3, failures: 12, failedSince: VirtualTime.start)
        #expect(decide(last, unread, at: end).outcome == .deadLettered)
    }

    @Test("a cause that only an operator can end counts like a failure of the endpoint")
    func misconfigured() {
        let unsigned = AttemptResult.misconfigured("no secret")
        let done = decide(DeliveryState(cursor: 3), unsigned)
        #expect(done.state.failures == 1 && done.signal == .hold(.zero))
        let none = decide(DeliveryState(cursor: 3), unsigned, schedule: RetrySchedule(waits: []))
        #expect(none.outcome == .deadLettered)
    }

    @Test("retrying a dead letter does not move the cursor")
    func again() {
        var state = DeliveryState(cursor: 7, dead: [2, 4])
        state.revive()
        #expect(state.again == [2, 4])
        var one = DeliveryState(cursor: 7, failures: 3, dead: [2, 4])
        one.revive([4, 5])
        #expect(one == DeliveryState(cursor: 7, dead: [2, 4], again: [4]))
        state.settle(2)
        let done = decide(state, .delivered)
        #expect(done.state == DeliveryState(cursor: 7, attempts: 1))
        #expect(done.verdict == .rest)
        let failed = decide(
            DeliveryState(cursor: 7, failures: 2, dead: [4], again: [4]),
            .failed("500")
        )
        #expect(failed.state == DeliveryState(cursor: 7, attempts: 1, dead: [4]))
        #expect(failed.verdict == .setAside)
    }

    @Test("the fallback is notified once, after the configured span")
    func escalates() {
        let early = decide(DeliveryState(), .failed("500"), notifyBy: .seconds(65))
        #expect(!early.escalates && early.wait == .seconds(5))
        let late = decide(early.state, .failed("500"), notifyBy: .seconds(60))
        #expect(late.escalates && late.state.escalated == 4)
        #expect(late.state.failures == 1, "an attempt for the fallback uses nothing")
        let once = decide(late.state, .failed("500"), notifyBy: .seconds(60))
        #expect(!once.escalates)
        let dead = decide(DeliveryState(failures: 2), .failed("500"), notifyBy: .seconds(3600))
        #expect(dead.outcome == .deadLettered && dead.escalates)
        #expect(!decide(DeliveryState(), .delivered, notifyBy: .zero).escalates)
    }

    @Test("the newest twenty dead letters are remembered")
    func bounded() {
        var state = DeliveryState()
        for seq in 1...30 { state.deadLetter(seq) }
        #expect(state.dead == Array(11...30) && state.cursor == 30)
    }

    @Test("a rewind makes every event after a seq pending again")
    func rewinds() {
        var state = DeliveryState(
            cursor: 9,
            failures: 3,
            escalated: 8,
            dead: [2, 6],
            cursorDigest: "AbCdEf",
            pendingFallback: [8]
        )
        state.rewind(to: 4)
        #expect(state == DeliveryState(cursor: 4, escalated: 4, dead: [2]))
        state.rewind(to: 8)
        #expect(state.cursor == 4)
    }
}
