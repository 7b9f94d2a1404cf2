import Synchronization

/// Pauses and resumes all runs of a poller, for example while an app is in the background.
final class PauseSwitch: Sendable {
    private struct State {
        var isPaused = false
        /// The number of changes, so that a change before the wait starts is not missed.
        var changes = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Pauses or resumes; does nothing if the state is already the same.
    func setPaused(_ paused: Bool) {
        let waiters = state.withLock { state in
            guard state.isPaused != paused else { return [CheckedContinuation<Void, Never>]() }
            state.isPaused = paused
            state.changes += 1
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for `delay`.
    ///
    /// While paused, it waits for a resume, then returns at once, or for `deadline` (a time of the timer). Cancelling
    /// the task also ends the wait.
    func wait(_ delay: Duration, until deadline: Duration, _ timer: PollTimer) async {
        var delay = delay
        while !Task.isCancelled {
            let (isPaused, changes) = state.withLock { ($0.isPaused, $0.changes) }
            if isPaused { delay = max(deadline - timer.now(), .zero) }
            guard delay > .zero else { return }
            let wasChanged = await isChanged(since: changes, within: delay, timer)
            guard wasChanged else { return }
            // The last poll is old after a resume, so poll immediately.
            if isPaused { return }
        }
    }

    private func isChanged(
        since changes: Int,
        within delay: Duration,
        _ timer: PollTimer
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                // The sleep is cancelled when the switch changes or the run ends.
                try? await timer.sleep(delay)
                return false
            }
            group.addTask {
                await self.waitForChange(since: changes)
                return true
            }
            let wasChanged = await group.next() ?? false
            group.cancelAll()
            return wasChanged
        }
    }

    /// Waits until the number of changes differs from `changes` or the task is cancelled.
    private func waitForChange(since changes: Int) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.changes == changes, !Task.isCancelled else { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}

/// A clock of any type, reduced to the two functions that polling needs.
struct PollTimer: Sendable {
    /// Returns the time since an arbitrary origin.
    let now: @Sendable () -> Duration
    /// Sleeps; throws when the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }
}
