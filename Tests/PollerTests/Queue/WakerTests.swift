import PollerQueue
import PollerTesting
import Testing

// A lost wake causes an endless sleep, which the time limit turns into a failure.
@Suite("Waker", .timeLimit(.minutes(5)))
struct WakerTests {
    let clock = ManualClock()

    @Test("a sleep ends at its instant")
    func onTime() async {
        let waker = Waker(clock: clock)
        let woke = Shared(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await waker.sleep(until: .init(offset: .seconds(5)))
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

    @Test("a wake ends the sleep and leaves no sleeper on the clock")
    func woken() async {
        let waker = Waker(clock: clock)
        let sleeper = Task { await waker.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        waker.wake()
        await sleeper.value
        #expect(clock.now == .init(offset: .zero))
    }

    @Test("a wake before the sleep ends that sleep only")
    func rungBefore() async {
        let waker = Waker(clock: clock)
        waker.wake()
        waker.wake()
        await waker.sleep(until: .init(offset: .seconds(5)))
        #expect(clock.now == .init(offset: .zero))
        let second = Task { await waker.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await second.value
        #expect(clock.now == .init(offset: .seconds(5)))
    }

    @Test("cancellation ends the sleep")
    func cancelled() async {
        let waker = Waker(clock: clock)
        let sleeper = Task { await waker.sleep(until: .init(offset: .seconds(5))) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await sleeper.value
        #expect(clock.now == .init(offset: .zero))
    }

    @Test("no wake is lost when many arrive")
    func storm() async {
        let waker = Waker(clock: ContinuousClock())
        let ringer = Task {
            while !Task.isCancelled {
                waker.wake()
                await Task.yield()
            }
        }
        // A single lost wake would sleep for longer than the time limit of this suite.
        for _ in 0..<500 { await waker.sleep(until: .now.advanced(by: .seconds(3600))) }
        ringer.cancel()
        await ringer.value
    }
}
