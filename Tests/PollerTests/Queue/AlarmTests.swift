import Poller
import PollerTesting
import Testing

// A lost wake shows as a sleep without end: the limit turns it into a failure.
@Suite("Alarm", .timeLimit(.minutes(1)))
struct AlarmTests {
    let clock = ManualClock()

    @Test("wakes at its instant")
    func onTime() async {
        let alarm = Alarm(clock: clock)
        let woke = Shared(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await alarm.sleep(until: .init(offset: .seconds(5)))
                woke.change { $0 = true }
            }
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(4))
            for _ in 0..<100 { await Task.yield() }
            #expect(!woke.value)
            clock.advance(by: .seconds(1))
        }
        #expect(woke.value)
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
        #expect(clock.now == .init(offset: .zero))
        let second = Task { await alarm.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await second.value
        #expect(clock.now == .init(offset: .seconds(5)))
    }

    @Test("cancellation ends the sleep")
    func cancelled() async {
        let alarm = Alarm(clock: clock)
        let sleeper = Task { await alarm.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await sleeper.value
        #expect(clock.now == .init(offset: .zero))
    }

    @Test("a wait for a ring alone outlives cancellation")
    func waits() async {
        let alarm = Alarm(clock: clock)
        let woke = Shared(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await alarm.wait()
                woke.change { $0 = true }
            }
            group.cancelAll()
            for _ in 0..<100 { await Task.yield() }
            #expect(!woke.value)
            alarm.ring()
        }
        #expect(woke.value)
    }

    @Test("no ring is lost in a storm of them")
    func storm() async {
        let began = ContinuousClock.now
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
        // One lost ring alone would have slept this long.
        #expect(began.duration(to: .now) < .seconds(30))
    }
}
