import Synchronization

/// Pauses and resumes everything that rests on it, as an app does that goes to the background and comes back.
///
/// A class, because all runs of a poller share it.
final class PauseSwitch: Sendable {
    private struct State {
        var isPaused = false
        /// Counts the turns, so that one that happens before the wait for it is not missed.
        var changes = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Turns it; nothing happens when it stands there already.
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

    /// Rests until the next look is due: after `pause`; or at once after a resume; or at `deadline`.
    ///
    /// While paused only a resume or the deadline, a time of the timer, ends it. It also ends when the task is
    /// cancelled.
    func wait(_ delay: Duration, until deadline: Duration, _ timer: PollTimer) async {
        var delay = delay
        while !Task.isCancelled {
            let (isPaused, changes) = state.withLock { ($0.isPaused, $0.changes) }
            if isPaused { delay = max(deadline - timer.now(), .zero) }
            guard delay > .zero else { return }
            let wasChanged = await isChanged(since: changes, within: delay, timer)
            guard wasChanged else { return }
            // Resumed: the time of the last look is old, so look at once.
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
                // Cancelled means that the switch was turned first, or that the run ends.
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

    /// Waits until it has been turned more often than that, or the task is cancelled.
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

/// A clock of any kind as the two things polling needs of it.
struct PollTimer: Sendable {
    /// The time since some moment.
    let now: @Sendable () -> Duration
    /// Waits; throws when the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }
}
