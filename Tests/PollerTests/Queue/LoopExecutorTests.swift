import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

/// An executor that counts its jobs and rings its alarms on request.
private final class TestLoopExecutor: WorkerLoopExecutor, TaskExecutor {
    private struct Alarm: Sendable {
        let instant: ManualClock.Instant
        let scheduleAlarm: @Sendable () -> Void
    }

    private let alarms = Mutex<[Alarm]>([])
    private let ran = Mutex(0)

    var executor: any TaskExecutor { self }
    /// The number of jobs that ran.
    var runs: Int { ran.withLock { $0 } }
    /// The instants of all alarms, in the order in which they were set.
    var instants: [ManualClock.Instant] { alarms.withLock { $0.map(\.instant) } }

    func enqueue(_ job: consuming ExecutorJob) {
        ran.withLock { $0 += 1 }
        globalConcurrentExecutor.enqueue(job)
    }

    func scheduleAlarm(at instant: ManualClock.Instant, _ alarm: @escaping @Sendable () -> Void) {
        alarms.withLock { $0.append(Alarm(instant: instant, scheduleAlarm: alarm)) }
    }

    func scheduleAlarm(_ number: Int) {
        let alarm = alarms.withLock { $0[number] }
        alarm.scheduleAlarm()
    }
}

@Suite("worker executor", .timeLimit(.minutes(5)))
struct LoopExecutorTests {
    private let clock = ManualClock()
    private let loopExecutor = TestLoopExecutor()

    private func at(_ seconds: Int) -> ManualClock.Instant { .init(offset: .seconds(seconds)) }

    /// Records how many jobs the executor had run before the handler was called.
    private struct Witness: ItemHandler {
        let loopExecutor: TestLoopExecutor
        let seen: Shared<Int>

        func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
            seen.change { $0 = loopExecutor.runs }
            return Decision(verdict: .close(.gone), change: WatchChange(state: WatchState()))
        }
    }

    @Test("an alarm ends the sleep, and the next sleep sets a new alarm")
    func alarm() async throws {
        let waker = Waker(clock: clock, loopExecutor: loopExecutor)
        for second in 1...2 {
            let sleeper = Task { await waker.sleep(until: at(second)) }
            try await eventually("an alarm is set") { loopExecutor.instants.count == second }
            loopExecutor.scheduleAlarm(second - 1)
            await sleeper.value
        }
        #expect(loopExecutor.instants == [at(1), at(2)])
    }

    @Test("a sleep reuses an earlier alarm, and a replaced alarm has no effect")
    func replaced() async throws {
        let waker = Waker(clock: clock, loopExecutor: loopExecutor)
        for (second, count) in [(5, 1), (9, 1), (3, 2)] {
            let sleeper = Task { await waker.sleep(until: at(second)) }
            try await eventually("an alarm is set") { loopExecutor.instants.count == count }
            waker.wake()
            await sleeper.value
        }
        #expect(loopExecutor.instants == [at(5), at(3)])
        let sleeper = Task { await waker.sleep(until: at(3)) }
        loopExecutor.scheduleAlarm(0)
        loopExecutor.scheduleAlarm(1)
        await sleeper.value
        #expect(loopExecutor.instants == [at(5), at(3)])
    }

    @Test("cancellation ends the sleep")
    func cancelled() async {
        let waker = Waker(clock: clock, loopExecutor: loopExecutor)
        let sleeper = Task { await waker.sleep(until: at(5)) }
        sleeper.cancel()
        await sleeper.value
    }

    @Test("a worker runs its loop, its exchanges and its handlers on its executor")
    func worker() async throws {
        let rig = WorkerRig()
        _ = try await rig.enqueue(1)
        let seen = Shared(0)
        let worker = LeaseWorker(
            "worker",
            rig.store,
            Witness(loopExecutor: loopExecutor, seen: seen),
            concurrency: 1,
            lease: .seconds(12),
            clock: rig.clock,
            loopExecutor: loopExecutor
        )
        try await running(worker.run) {
            try await eventually("it is recorded") { try await rig.store.stats().closed == 1 }
        }
        // The worker, an exchange, and the handler.
        #expect(seen.value >= 3)
    }
}
