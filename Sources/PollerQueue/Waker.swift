import Synchronization

/// Lets one task sleep until an instant or a wake, whichever comes first.
///
/// A wake before the sleep is not lost: the next sleep ends at once.
package final class Waker<C: Clock>: Sendable where C.Duration == Duration {
    private let clock: C
    private let loopExecutor: (any WorkerLoopExecutor<C.Instant>)?
    private let state = Mutex(State())

    /// The state under the lock: an early wake, or the sleeper.
    private struct State: Sendable {
        var isWoken = false
        var sleeper: CheckedContinuation<Void, Never>?
        /// The time of the current alarm and its number; earlier alarms are ignored.
        var alarm: C.Instant?
        var number = 0
    }

    /// Creates a waker that uses the alarms of `loopExecutor`, or the clock's sleep without one.
    package init(clock: C, loopExecutor: (any WorkerLoopExecutor<C.Instant>)? = nil) {
        self.clock = clock
        self.loopExecutor = loopExecutor
    }

    /// Ends the current sleep, or the next one.
    package func wake() {
        let sleeper = state.withLock { state in
            state.isWoken = true
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Sleeps until `instant`, a wake or cancellation.
    ///
    /// With a loop executor it may return earlier without any of them.
    ///
    /// Only one task may sleep at a time.
    package func sleep(until instant: C.Instant) async {
        if let loopExecutor {
            setAlarm(at: instant, loopExecutor)
            await withTaskCancellationHandler {
                await woken()
            } onCancel: {
                self.wake()
            }
        } else {
            await withTaskGroup(of: Void.self) { group in
                // The timer and the wake are awaited concurrently. A wake cancels this timer below.
                group.addTask { [clock] in
                    // A cancelled sleep means that a wake came first.
                    guard (try? await clock.sleep(until: instant, tolerance: nil)) != nil else {
                        return
                    }
                    self.wake()
                }
                await withTaskCancellationHandler {
                    await woken()
                } onCancel: {
                    self.wake()
                }
                group.cancelAll()
            }
        }
        state.withLock { $0.isWoken = false }
    }

    /// Sets an alarm for `instant`.
    ///
    /// An earlier alarm is enough, because the sleeper then sets the next one.
    private func setAlarm(at instant: C.Instant, _ loopExecutor: any WorkerLoopExecutor<C.Instant>)
    {
        let number: Int? = state.withLock { state in
            if state.isWoken { return nil }
            if let alarm = state.alarm, alarm <= instant { return nil }
            state.alarm = instant
            state.number += 1
            return state.number
        }
        guard let number else { return }
        loopExecutor.scheduleAlarm(at: instant) { self.alarmFired(number) }
    }

    private func alarmFired(_ number: Int) {
        let isCurrent = state.withLock { state in
            guard state.number == number else { return false }
            state.alarm = nil
            return true
        }
        if isCurrent { wake() }
    }

    private func woken() async {
        await withCheckedContinuation { continuation in
            let isWoken = state.withLock { state in
                precondition(state.sleeper == nil, "a waker wakes one sleeper")
                if state.isWoken { return true }
                state.sleeper = continuation
                return false
            }
            if isWoken { continuation.resume() }
        }
    }
}

/// The event loop on which a ``LeaseWorker`` runs its tasks and alarms.
package protocol WorkerLoopExecutor<Instant>: Sendable {
    associatedtype Instant: InstantProtocol

    /// The executor of the worker, its exchanges and its handlers, so that their awaits need no other thread.
    var executor: any TaskExecutor { get }

    /// Calls `alarm` once, at that instant or soon after it.
    ///
    /// It is cheaper than a sleeping task. There is one alarm for each millisecond in which items start.
    func scheduleAlarm(at instant: Instant, _ alarm: @escaping @Sendable () -> Void)
}
