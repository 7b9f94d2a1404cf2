import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider at the deadline")
struct PollDeciderDeadlineTests {
    let start = VirtualTime.start
    /// The watch lasts one hour, and its grace period six minutes.
    let watch = Sample.watch(status: "pending", step: 9)

    func decide(_ result: PollResult, at now: Duration) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        return PollDecider().decide(
            PollContext(watch, at: start + now),
            .answer(result),
            using: &generator
        )
    }

    @Test("the last poll is due exactly at the deadline")
    func onTime() {
        #expect(decide(.pending, at: .seconds(3590)).verdict == .next(after: .seconds(10)))
    }

    @Test("a last poll without a change closes the watch as expired, with an event")
    func expired() throws {
        let decision = decide(.pending, at: .seconds(3600))
        #expect(decision.verdict == .close(.expired))
        let event = try #require(decision.change.event)
        #expect(event.type == "watch.expired")
        #expect(event.closed == .expired && !event.final)
        #expect(event.status?.description == "pending")
    }

    @Test("a poll that begins before the deadline does not close the watch")
    func straddling() {
        var generator = SeededGenerator(seed: 7)
        let decision = PollDecider().decide(
            PollContext(
                watch,
                due: start + .seconds(3598),
                polledAt: start + .seconds(3599),
                now: start + .seconds(3603)
            ),
            .answer(.pending),
            using: &generator
        )
        #expect(decision.verdict == .next(after: .zero))
    }

    @Test("a change at the deadline is recorded and followed by another poll")
    func changeAtDeadline() throws {
        let decision = decide(.status("chargeable"), at: .seconds(3600))
        #expect(decision.verdict == .next(after: .zero))
        #expect(try #require(decision.change.event).type == "source.chargeable")
    }

    @Test(
        "without an answer the watch stays open for its grace period, then expires",
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

    private func wait(_ watch: Watch, expiresAt: Duration, at now: Duration) -> Duration? {
        var generator = SeededGenerator(seed: 7)
        let seen = Observation(
            status: SourceStatus(unchecked: "pending"),
            final: false,
            object: nil,
            expiresAt: start + expiresAt
        )
        let instant = start + now
        let context = PollContext(watch, at: instant)
        let decision = PollDecider().decide(context, .answer(.observed(seen)), using: &generator)
        guard case .next(let wait) = decision.verdict else { return nil }
        return wait
    }

    @Test("an object with an expiry before its watch began stays watched")
    func endedBefore() {
        // The clocks may differ by hours, or the upstream may expire objects later than announced.
        #expect(wait(watch, expiresAt: .seconds(-3600), at: .seconds(120)) != nil)
        #expect(wait(watch, expiresAt: .zero, at: .seconds(120)) != nil)
        #expect(wait(watch, expiresAt: .seconds(30), at: .seconds(120)) == nil)
        #expect(wait(watch, expiresAt: .seconds(-3600), at: .seconds(3600)) == nil)
    }

    @Test("an object that outlives the default watch span is watched until its expiry")
    func longLived() {
        let day = 86_400
        let plain = Sample.watch(status: "pending", timeout: .seconds(30 * day), step: 9)
        #expect(wait(plain, expiresAt: .seconds(60 * day), at: .seconds(45 * day)) != nil)
        #expect(wait(plain, expiresAt: .seconds(60 * day), at: .seconds(61 * day)) == nil)
        // A span chosen by the caller is kept.
        let chosen = Sample.watch(status: "pending", timeout: .seconds(10 * day), step: 9)
        #expect(wait(chosen, expiresAt: .seconds(60 * day), at: .seconds(11 * day)) == nil)
    }

    @Test("the grace period is a tenth of the timeout, at most ten minutes")
    func graceSpan() {
        #expect(PollDecider.grace(timeout: .seconds(100)) == .seconds(10))
        #expect(PollDecider.grace(timeout: .seconds(86_400)) == .seconds(600))
    }
}

@Suite("PollDecider and the upstream's expiry")
struct PollDeciderExpiryTests {
    let start = VirtualTime.start

    func decide(
        at now: Duration,
        policy: PollPolicy = .patient,
        expiresAt: Duration? = .seconds(3600),
        stretch: Double = 1,
        status: String = "pending",
        step: Int = 9,
        hintedAt: Duration? = nil
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        let watch = Sample.watch(
            status: "pending",
            policy: policy,
            timeout: .seconds(30 * 86_400),
            step: step,
            hintedAt: hintedAt.map { start + $0 }
        )
        let observation = Observation(
            status: SourceStatus(unchecked: status),
            final: false,
            object: nil,
            expiresAt: expiresAt.map { start + $0 },
            stretch: stretch
        )
        return PollDecider().decide(
            PollContext(watch, at: start + now),
            .answer(.observed(observation)),
            using: &generator
        )
    }

    func wait(_ decision: Decision<WatchChange>) throws -> Duration {
        guard case .next(let wait) = decision.verdict else {
            throw InvalidInput("verdict", "is \(decision.verdict)")
        }
        return wait
    }

    @Test("a poll is due exactly at the expiry, with any policy")
    func onTime() throws {
        #expect(try wait(decide(at: .seconds(1000))) == .seconds(2600))
    }

    @Test("the last poll is one minute after the expiry, and urgent")
    func lastPoll() throws {
        let decision = decide(at: .seconds(3600))
        #expect(try wait(decision) == PollLimits.expiryGrace)
        #expect(decision.isUrgent)
    }

    @Test("the watch closes one minute after the expiry, long before its deadline")
    func closes() {
        #expect(decide(at: .seconds(3660)).verdict == .close(.expired))
        #expect(decide(at: .seconds(3660), expiresAt: nil).verdict != .close(.expired))
    }

    @Test("the time to an expiry is measured by the upstream's clock, not the store's")
    func otherClock() throws {
        let seen = Observation(
            status: SourceStatus(unchecked: "pending"),
            final: false,
            object: nil,
            expiresAt: start + .seconds(3600),
            upstreamTime: start + .seconds(600)
        )
        let days = start + .seconds(60 * 86_400)
        let converted = seen.converted(at: days)
        #expect(converted.expiresAt == days + .seconds(3000))
        #expect(converted.converted(at: days + .seconds(86_400)) == converted)
    }

    @Test("a change is reported even after the expiry, and followed by another poll")
    func changeAfterExpiry() throws {
        let decision = decide(at: .seconds(4000), status: "chargeable")
        #expect(decision.change.event?.type == "source.chargeable")
        #expect(try wait(decision) == .zero)
    }

    @Test("a stretched watch waits longer but is still polled at the expiry")
    func stretched() throws {
        let plain = try wait(decide(at: .seconds(10), policy: .standard, step: 3))
        let stretched = try wait(decide(at: .seconds(10), policy: .standard, stretch: 8, step: 3))
        #expect(abs(stretched.inSeconds - 8 * plain.inSeconds) < 0.1)
        let late = decide(at: .seconds(3500), policy: .standard, stretch: 1000, step: 3)
        #expect(try wait(late) == .seconds(100))
    }

    @Test("a stretch delays neither an interactive watch nor one with a hint")
    func notStretched() throws {
        let interactive = decide(at: .seconds(10), policy: .interactive, stretch: 100, step: 0)
        #expect(try wait(interactive) < .seconds(2))
        let hinted = decide(
            at: .seconds(10),
            policy: .standard,
            stretch: 100,
            hintedAt: .seconds(9)
        )
        #expect(try wait(hinted) < .seconds(2))
    }
}
