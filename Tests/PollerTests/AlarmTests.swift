import Poller
import PollerTesting
import Testing

@Suite("Alarm")
struct AlarmTests {
    let clock = ManualClock()

    @Test("wakes at its instant")
    func onTime() async {
        let alarm = Alarm(clock: clock)
        let sleeper = Task { await alarm.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await sleeper.value
    }

    @Test("wakes when rung, and leaves nobody asleep on the clock")
    func rung() async {
        let alarm = Alarm(clock: clock)
        let sleeper = Task { await alarm.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        alarm.ring()
        await sleeper.value
        #expect(clock.now == .init(offset: .zero))
    }

    @Test("a ring before the sleep ends it, but only one")
    func rungBefore() async {
        let alarm = Alarm(clock: clock)
        alarm.ring()
        alarm.ring()
        await alarm.sleep(until: .init(offset: .seconds(5)))
        let second = Task { await alarm.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await second.value
    }

    @Test("cancellation ends the sleep")
    func cancelled() async {
        let alarm = Alarm(clock: clock)
        let sleeper = Task { await alarm.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await sleeper.value
    }

    @Test("a wait for a ring alone outlives cancellation")
    func waits() async {
        let alarm = Alarm(clock: clock)
        let waiter = Task { await alarm.wait() }
        waiter.cancel()
        alarm.ring()
        await waiter.value
    }

    @Test("no ring is lost in a storm of them", .timeLimit(.minutes(1)))
    func storm() async {
        let alarm = Alarm(clock: ContinuousClock())
        let ringer = Task {
            while !Task.isCancelled {
                alarm.ring()
                await Task.yield()
            }
        }
        for _ in 0..<500 { await alarm.sleep(until: .now.advanced(by: .seconds(30))) }
        ringer.cancel()
        await ringer.value
    }
}
