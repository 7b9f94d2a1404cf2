import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider")
struct PollDeciderTests {
    let start = VirtualTime.start

    func decide(
        _ result: PollResult,
        _ watch: Watch,
        after: Duration = .seconds(10),
        took: Duration = .zero
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        return PollDecider().decide(
            PollContext(
                watch,
                due: start + after,
                polledAt: start + after,
                now: start + after + took
            ),
            .answer(result),
            using: &generator
        )
    }

    func wait(_ decision: Decision<WatchChange>) throws -> Duration {
        guard case .next(let after) = decision.verdict else {
            throw Unexpected(verdict: decision.verdict)
        }
        return after
    }

    struct Unexpected: Error {
        let verdict: Verdict
    }

    @Test("an unchanged source is polled at growing intervals without an event")
    func unchanged() throws {
        let decision = decide(.pending, Sample.watch(status: "pending", step: 2, failures: 3))
        #expect(decision.change.event == nil)
        #expect(decision.change.state.step == 3)
        #expect(decision.change.state.failures == 0)
        #expect(decision.change.state.attempts == 1)
        #expect(decision.change.state.lastPolledAt == start + .seconds(10))
        #expect(decision.signal == .fine)
        let wait = try wait(decision)
        #expect(wait >= .milliseconds(10_800) && wait <= .milliseconds(13_200))
    }

    @Test("a changed status is recorded and polled again soon")
    func changed() throws {
        let watch = Sample.watch(status: "pending", seq: 4, step: 9, failures: 2)
        let decision = decide(.status("chargeable"), watch)
        let event = try #require(decision.change.event)
        #expect(event.seq == 5)
        #expect(event.type == "source.chargeable")
        #expect(event.previousStatus?.description == "pending")
        #expect(event.status?.description == "chargeable")
        #expect(!event.final)
        #expect(decision.change.state.status == event.status)
        #expect(decision.change.state.step == 0)
        #expect(decision.change.state.failures == 0)
        let wait = try wait(decision)
        #expect(wait >= .milliseconds(1350) && wait <= .milliseconds(1650))
    }

    @Test("a changed detail with an unchanged status is recorded once")
    func detail() throws {
        func seen(_ detail: String) -> PollResult {
            .observed(
                Observation(
                    status: SourceStatus(unchecked: "requires_payment_method"),
                    final: false,
                    object: RawJSON(unchecked: #"{"last_payment_error":{}}"#),
                    detail: detail
                )
            )
        }
        let watch = Sample.watch(status: "requires_payment_method", seq: 4, step: 9)
        #expect(decide(seen(""), watch).change.event == nil)
        let declined = decide(seen("1a"), watch)
        let event = try #require(declined.change.event)
        #expect(event.type == "source.requires_payment_method" && event.seq == 5)
        #expect(event.previousStatus == event.status && !event.final)
        #expect(event.json.contains("last_payment_error"))
        #expect(declined.change.state.detail == "1a" && declined.change.state.step == 0)
        let reported = Sample.watch(status: "requires_payment_method", detail: "1a", step: 9)
        #expect(decide(seen("1a"), reported).change.event == nil)
        #expect(decide(seen("1b"), reported).change.event != nil)
        // A poll without an answer keeps the detail.
        #expect(decide(.lockTimeout, reported).change.state.detail == "1a")
    }

    @Test("the first status is a change")
    func first() throws {
        let event = try #require(decide(.pending, Sample.watch()).change.event)
        #expect(event.previousStatus == nil)
        #expect(event.seq == 1)
    }

    @Test("a final status closes the watch and is recorded")
    func final() throws {
        let decision = decide(.status("consumed", final: true), Sample.watch(status: "chargeable"))
        #expect(decision.verdict == .close(.settled))
        let event = try #require(decision.change.event)
        #expect(event.final)
        #expect(event.type == "source.consumed")
    }

    @Test("a final status is recorded as final even if it was observed before")
    func finalAgain() throws {
        let decision = decide(.status("failed", final: true), Sample.watch(status: "failed"))
        #expect(decision.verdict == .close(.settled))
        #expect(try #require(decision.change.event).final)
    }

    @Test("a final status closes the watch even after the deadline")
    func finalLate() {
        let watch = Sample.watch(status: "pending", timeout: .seconds(5))
        #expect(decide(.status("failed", final: true), watch).verdict == .close(.settled))
    }

    @Test("a rate limit slows the lane for the requested time and is not a failure")
    func rateLimited() throws {
        let watch = Sample.watch(status: "pending", step: 4, failures: 2)
        let decision = decide(.rateLimited(retryAfter: .seconds(30)), watch)
        #expect(decision.signal == .slow(.seconds(30)))
        #expect(decision.verdict == .next(after: .zero))
        #expect(decision.change.event == nil)
        #expect(decision.change.state.failures == 2)
        #expect(decision.change.state.step == 4)
        #expect(decision.change.lastError != nil)
    }

    @Test(
        "a rate limit pauses the lane for at least 750 ms and at most an hour",
        arguments: [nil, Duration.zero, .seconds(-5), .seconds(1_000_000)]
    )
    func rateLimitBounds(_ retryAfter: Duration?) throws {
        let decision = decide(.rateLimited(retryAfter: retryAfter), Sample.watch())
        guard case .slow(let hold) = decision.signal else {
            return fail("signals \(decision.signal)")
        }
        #expect(hold >= .milliseconds(750) && hold <= .seconds(3600))
    }

    @Test("a locked object delays only its watch, briefly")
    func lockTimeout() throws {
        let decision = decide(.lockTimeout, Sample.watch(status: "pending", failures: 2))
        #expect(decision.signal == .fine)
        #expect(decision.change.state.failures == 2)
        #expect(decision.change.event == nil)
        let wait = try wait(decision)
        #expect(wait >= .milliseconds(750) && wait <= .milliseconds(1250))
    }

    @Test("the backoff for an unavailable upstream is at most a minute", arguments: 0..<30)
    func unavailable(_ failures: Int) throws {
        let watch = Sample.watch(status: "pending", failures: failures)
        let decision = decide(.unavailable("503", retryAfter: nil), watch)
        #expect(decision.change.state.failures == failures + 1)
        #expect(decision.change.lastError == "503")
        #expect(decision.change.event == nil)
        #expect(decision.signal == .failing)
        let answered = decide(.unavailable("503", retryAfter: nil, isAnswer: true), watch)
        #expect(answered.signal == .erring, "it has answered")
        let ceiling = min(1 << min(failures + 1, 20), 60)
        let wait = try wait(decision)
        #expect(wait >= .milliseconds(100) && wait <= .seconds(ceiling))
    }

    @Test("an unavailable upstream is not polled before its `Retry-After`")
    func retryAfter() throws {
        let decision = decide(.unavailable("503", retryAfter: .seconds(45)), Sample.watch())
        #expect(try wait(decision) >= .seconds(45))
    }

    @Test("an object that rejects the credentials delays only its watch", arguments: 0..<8)
    func unauthorized(_ failures: Int) throws {
        let watch = Sample.watch(status: "pending", failures: failures)
        let decision = decide(.unauthorized("403"), watch)
        #expect(decision.signal == (failures == 0 ? .denied : .stillFailing))
        #expect(decision.change.state.failures == failures + 1)
        #expect(decision.change.event == nil)
        // The text makes no promise, because it is also read after the watch has closed.
        #expect(decision.change.lastError == "credentials refused: 403")
        #expect(try wait(decision) >= .milliseconds(100) && wait(decision) <= .seconds(60))
    }

    @Test("a revoked key delays each watch, and signals the lane each time", arguments: 0..<8)
    func revoked(_ failures: Int) throws {
        let watch = Sample.watch(status: "pending", failures: failures)
        let decision = decide(.revoked("401"), watch)
        #expect(decision.signal == .revoked)
        #expect(decision.change.state.failures == failures + 1)
        #expect(decision.change.event == nil)
        #expect(decision.change.lastError == "credentials refused: 401")
        #expect(try wait(decision) <= .seconds(60))
    }

    @Test("a watch not configured in this process is delayed, without a signal to the lane")
    func unserved() {
        let decision = decide(.unserved("no key"), Sample.watch(status: "pending", failures: 1))
        #expect(decision.signal == .hold(.zero) && decision.change.event == nil)
        #expect(decision.change.state.failures == 2)
        #expect(decision.change.lastError == "no key")
    }

    @Test("after a hint a watch is polled every second for a minute")
    func eager() throws {
        let hinted = Sample.watch(status: "pending", step: 9, hintedAt: start)
        #expect(try wait(decide(.pending, hinted, after: .seconds(59))) <= .milliseconds(1250))
        #expect(try wait(decide(.pending, hinted, after: .seconds(60))) > .seconds(200))
    }

    @Test("the lag is the time from due to polled, and never negative")
    func lag() throws {
        var generator = SeededGenerator(seed: 1)
        for (late, wanted) in [(1234, 1234), (-20, 0)] {
            let decision = PollDecider().decide(
                PollContext(
                    Sample.watch(),
                    due: start,
                    polledAt: start + .milliseconds(late),
                    now: start + .seconds(2)
                ),
                .answer(.pending),
                using: &generator
            )
            let event = try #require(decision.change.event)
            #expect(event.json.contains(#""lag_ms":\#(wanted)}"#))
        }
    }
}
