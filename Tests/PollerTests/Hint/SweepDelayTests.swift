import PollerIdentity
import PollerTesting
import Testing

@testable import PollerHints

@Suite("Sweep delay")
struct SweepDelayTests {
    private let begin = ContinuousClock.now
    private var delay = SweepDelay<ContinuousClock.Instant>()

    private func turn(caughtUp: Int?, now: Int) -> SweepLease {
        func instant(_ seconds: Int) -> Timestamp { VirtualTime.start + .seconds(seconds) }
        return SweepLease(
            isOwner: false,
            cursor: .start,
            caughtUpAt: caughtUp.map(instant),
            now: instant(now)
        )
    }

    @Test("the delay is unknown before the first answer")
    func unknown() {
        #expect(delay.delay(at: begin) == nil)
    }

    @Test("a sweep that keeps its pace has no delay, at any pace")
    mutating func pace() {
        for now in [0, 600, 1290] {
            delay.update(turn(caughtUp: 0, now: now), pace: .seconds(1296), at: begin)
            #expect(delay.delay(at: begin) == .zero)
        }
        delay.update(turn(caughtUp: 0, now: 1300), pace: .seconds(1296), at: begin)
        #expect(delay.delay(at: begin) == .seconds(4))
        delay.update(turn(caughtUp: 1301, now: 1301), pace: .seconds(1296), at: begin)
        #expect(delay.delay(at: begin) == .zero, "it has read everything again")
    }

    @Test("during a store outage the delay grows by the local clock")
    mutating func outage() {
        delay.update(turn(caughtUp: 8, now: 10), pace: .seconds(2), at: begin)
        #expect(delay.delay(at: begin) == .zero)
        #expect(delay.delay(at: begin + .seconds(90)) == .seconds(90))
    }

    @Test("the delay of a sweep that never finished counts from its first request")
    mutating func never() {
        delay.update(turn(caughtUp: nil, now: 100), pace: .seconds(1296), at: begin)
        #expect(delay.delay(at: begin) == .zero)
        delay.update(turn(caughtUp: nil, now: 400), pace: .seconds(1296), at: begin)
        #expect(delay.delay(at: begin) == .seconds(300))
    }
}
