package import PollerIdentity
import Synchronization

/// A clock that stands still until a test moves it, and reports sleeping tasks.
///
/// A test waits for the expected sleepers and then advances. So tests do not sleep, and there is no race between a task
/// that is about to sleep and the advancing time. This is a class because the test and the code under test share it.
package final class ManualClock: Clock {
    /// A point on a ``ManualClock``: the span since the clock was created.
    package struct Instant: InstantProtocol {
        /// The span since the clock was created.
        package let offset: Duration

        /// Creates the point this long after the clock's creation.
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

        /// Removes the watchers whose condition is satisfied.
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

    /// Creates a clock at zero.
    package init() {}

    package var now: Instant { state.withLock { $0.now } }

    package var minimumResolution: Duration { .zero }

    /// Sleeps until a test has moved the clock to `deadline`, or throws if cancelled.
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
    /// The horizon excludes tasks that sleep only until they are woken.
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

    /// Moves the clock and wakes every task whose deadline has passed, earliest first.
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

/// A store's clock that stands still until a test moves it.
///
/// This is a class because the store and its test share it.
package final class VirtualTime: StoreTime {
    /// The default start of virtual time: 2026-11-20T09:00:00.000Z.
    package static let start = Timestamp(ms: 1_795_165_200_000)

    private let current: Mutex<Timestamp>

    package init(start: Timestamp = VirtualTime.start) {
        current = Mutex(start)
    }

    /// The current time.
    package var now: Timestamp { current.withLock { $0 } }

    /// Moves the clock forward; a negative span does not change it.
    package func advance(by duration: Duration) {
        current.withLock { $0 = $0 + max(duration, .zero) }
    }

    /// Sets the clock forward or back, as an operator or a failover does: no time passes.
    package func step(by duration: Duration) {
        current.withLock { $0 = $0 + duration }
    }
}

/// The clock of an in-memory store, like Redis' clock for the Redis store.
package protocol StoreTime: Sendable {
    /// The store's clock.
    var now: Timestamp { get }
}

/// A store's clock that follows a Swift clock.
///
/// It is real time with a `ContinuousClock`, and a shared time for store and loops with a ``ManualClock``.
package struct ClockTime<C: Clock>: StoreTime where C.Duration == Duration, C.Instant: Sendable {
    private let clock: C
    private let start: C.Instant
    private let epoch: Timestamp

    /// Shows `epoch` now, and advances with `clock`.
    package init(_ clock: C, epoch: Timestamp = VirtualTime.start) {
        self.clock = clock
        start = clock.now
        self.epoch = epoch
    }

    /// The epoch plus the time passed on the clock since.
    package var now: Timestamp { epoch + start.duration(to: clock.now) }
}

/// Waits in real time until a condition holds, and fails if it does not within `limit`.
///
/// It is for conditions that other tasks or processes bring about, and checks every few milliseconds. A check counts for
/// at most 10 ms of the limit: tests that compute keep all of Swift's few threads for half a minute, and neither this
/// task nor the code under test runs meanwhile.
package func eventually(
    _ fact: String,
    within limit: Duration = .seconds(30),
    _ holds: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    var waited = Duration.zero
    while true {
        let began = clock.now
        if try await holds() { return }
        guard waited < limit else { throw ConditionTimeout(fact: fact, limit: limit) }
        try await clock.sleep(for: .milliseconds(2))
        waited += min(began.duration(to: clock.now), .milliseconds(10))
    }
}

/// A condition that did not become true in time.
package struct ConditionTimeout: Error, CustomStringConvertible {
    /// The expected condition.
    package let fact: String
    /// How long the test waited.
    package let limit: Duration

    package var description: String { "not within \(limit): \(fact)" }
}
