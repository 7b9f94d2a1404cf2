import Synchronization

/// Lets one task sleep until an instant, or until somebody wakes it, whichever comes first.
///
/// A wake before the sleep is not lost: the next sleep ends at once. A class, because those who wake it
/// and the sleeper share it.
package final class Waker<C: Clock>: Sendable where C.Duration == Duration {
    private let clock: C
    private let home: (any LoopHome<C.Instant>)?
    private let state = Mutex(State())

    /// What the lock guards: a wake that came before the sleep, or the sleeper.
    private struct State: Sendable {
        var isWoken = false
        var sleeper: CheckedContinuation<Void, Never>?
        /// When home rings, and the number of that alarm: earlier ones ring in vain.
        var alarm: C.Instant?
        var number = 0
    }

    /// A waker that was not used yet; it has its home's alarms instead of the clock's sleep.
    package init(clock: C, home: (any LoopHome<C.Instant>)? = nil) {
        self.clock = clock
        self.home = home
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

    /// Sleeps until `instant`, a wake or cancellation; at home it may end earlier without any of them.
    ///
    /// One sleeper at a time.
    package func sleep(until instant: C.Instant) async {
        if let home {
            setAlarm(at: instant, home)
            await withTaskCancellationHandler {
                await woken()
            } onCancel: {
                self.wake()
            }
        } else {
            await withTaskGroup(of: Void.self) { group in
                // The clock and the wake are waited for at once; the wake cancels this timer below.
                group.addTask { [clock] in
                    // Cancelled means that somebody woke it first.
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

    /// Waits for a wake alone; not even cancellation ends it.
    package func wait() async {
        await woken()
        state.withLock { $0.isWoken = false }
    }

    /// Sees to it that home rings by then: an alarm that rings earlier will do, as the sleeper looks
    /// again and sets the next.
    private func setAlarm(at instant: C.Instant, _ home: any LoopHome<C.Instant>) {
        let number: Int? = state.withLock { state in
            if state.isWoken { return nil }
            if let alarm = state.alarm, alarm <= instant { return nil }
            state.alarm = instant
            state.number += 1
            return state.number
        }
        guard let number else { return }
        home.ring(at: instant) { self.rang(number) }
    }

    private func rang(_ number: Int) {
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

/// An event loop that a ``LeaseWorker`` lives on: its tasks run there, and it rings when something is due.
package protocol LoopHome<Instant>: Sendable {
    associatedtype Instant: InstantProtocol

    /// Where the worker, its exchanges and its handlers run, so that what they await needs no other
    /// thread.
    var executor: any TaskExecutor { get }

    /// Calls `alarm` once, at that instant or soon after it.
    ///
    /// Cheaper than a task that sleeps: there is one for each millisecond in which something starts.
    func ring(at instant: Instant, _ alarm: @escaping @Sendable () -> Void)
}
