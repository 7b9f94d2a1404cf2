import Synchronization

/// A clock that stands still until a test moves it, and tells when the code has gone to sleep.
///
/// A test waits for the sleepers it expects and then advances: no sleep in a test, and no race
/// between "the code was about to sleep" and "time went on without it". A class, because the
/// test and the code under test share it.
package final class ManualClock: Clock {
    /// A point on a ``ManualClock``: the span since the clock was made.
    package struct Instant: InstantProtocol {
        /// The span since the clock was made.
        package let offset: Duration

        /// The point this long after the clock was made.
        package init(offset: Duration) {
            self.offset = offset
        }

        package func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        package func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        package static func < (lhs: Instant, rhs: Instant) -> Bool {
            lhs.offset < rhs.offset
        }
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher: Sendable {
        let count: Int
        let horizon: Duration
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State: Sendable {
        var now = Instant(offset: .zero)
        var nextNumber = 0
        var sleepers: [Int: Sleeper] = [:]
        var watchers: [Watcher] = []

        /// Takes out the watchers who have seen what they waited for.
        mutating func takeSatisfied() -> [Watcher] {
            let satisfied = watchers.filter(isSatisfied)
            watchers.removeAll(where: isSatisfied)
            return satisfied
        }

        func isSatisfied(_ watcher: Watcher) -> Bool {
            asleep(within: watcher.horizon) >= watcher.count
        }

        func asleep(within horizon: Duration) -> Int {
            sleepers.values.count { now.duration(to: $0.deadline) <= horizon }
        }
    }

    private let state = Mutex(State())

    /// A clock that stands at zero.
    package init() {}

    package var now: Instant { state.withLock { $0.now } }

    package var minimumResolution: Duration { .zero }

    /// Sleeps until a test has moved the clock to `deadline`, or throws when cancelled.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fallAsleep(number, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits until at least `count` tasks sleep that would wake within `horizon` from now.
    ///
    /// The horizon leaves out those who sleep only to be rung awake.
    package func waitForSleepers(_ count: Int, within horizon: Duration = .seconds(600)) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                let watcher = Watcher(count: count, horizon: horizon, continuation: continuation)
                if state.isSatisfied(watcher) { return true }
                state.watchers.append(watcher)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Moves the clock and wakes everybody whose deadline has come, earliest first.
    package func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    private func fallAsleep(_ number: Int, _ sleeper: Sleeper) {
        enum Outcome {
            case asleep([Watcher])
            case due
            case cancelled
        }
        let outcome: Outcome = state.withLock { state in
            if sleeper.deadline <= state.now { return .due }
            // A cancellation before this line found no sleeper to wake.
            if Task.isCancelled { return .cancelled }
            state.sleepers[number] = sleeper
            return .asleep(state.takeSatisfied())
        }
        switch outcome {
        case .asleep(let watchers):
            for watcher in watchers { watcher.continuation.resume() }
        case .due: sleeper.continuation.resume()
        case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
        }
    }
}
