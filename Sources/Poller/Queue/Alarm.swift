import Synchronization

/// Lets one task sleep until an instant, or until somebody rings, whichever comes first.
///
/// A ring before the sleep is not lost: the next sleep ends at once. A class, because ringers
/// and sleeper share it.
package final class Alarm<C: Clock>: Sendable where C.Duration == Duration {
    private let clock: C
    private let state = Mutex(State())

    private struct State: Sendable {
        var rung = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    /// An alarm that nobody has rung.
    package init(clock: C) {
        self.clock = clock
    }

    /// Ends the current sleep, or the next one.
    package func ring() {
        let sleeper = state.withLock { state in
            state.rung = true
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Sleeps until `instant`, a ring or cancellation.
    ///
    /// One sleeper at a time.
    package func sleep(until instant: C.Instant) async {
        await withTaskGroup(of: Void.self) { group in
            // The clock and the ring are waited for at once; the ring cancels this timer below.
            group.addTask { [clock] in
                // Cancelled means that the alarm rang first; there is nothing to ring for then.
                guard (try? await clock.sleep(until: instant, tolerance: nil)) != nil else {
                    return
                }
                self.ring()
            }
            await withTaskCancellationHandler {
                await ringing()
            } onCancel: {
                self.ring()
            }
            group.cancelAll()
        }
        state.withLock { $0.rung = false }
    }

    /// Waits for a ring alone; not even cancellation ends it.
    package func wait() async {
        await ringing()
        state.withLock { $0.rung = false }
    }

    private func ringing() async {
        await withCheckedContinuation { continuation in
            let isRung = state.withLock { state in
                precondition(state.sleeper == nil, "an alarm wakes one sleeper")
                if state.rung { return true }
                state.sleeper = continuation
                return false
            }
            if isRung { continuation.resume() }
        }
    }
}
