import Synchronization

/// Lets one task sleep until an instant, or until somebody wakes it, whichever comes first.
///
/// A wake before the sleep is not lost: the next sleep ends at once. A class, because those who wake it
/// and the sleeper share it.
package final class Waker<C: Clock>: Sendable where C.Duration == Duration {
    private let clock: C
    private let state = Mutex(State())

    /// What the lock guards: a wake that came before the sleep, or the sleeper.
    private struct State: Sendable {
        var isWoken = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    /// A waker that was not used yet.
    package init(clock: C) {
        self.clock = clock
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
    /// One sleeper at a time.
    package func sleep(until instant: C.Instant) async {
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
        state.withLock { $0.isWoken = false }
    }

    /// Waits for a wake alone; not even cancellation ends it.
    package func wait() async {
        await woken()
        state.withLock { $0.isWoken = false }
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
