import Synchronization
import Testing

/// A clock whose time advances only by sleeping or by the test.
///
/// A class, so that the code and the test share its time.
final class TestClock: Clock {
    struct Instant: InstantProtocol {
        let time: Duration

        func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        func duration(to other: Instant) -> Duration { other.time - time }
        static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    private struct State {
        var now = Duration.zero
        var slept: [Duration] = []
        var nextID = 0
        var sleepers: [Int: (end: Duration, continuation: CheckedContinuation<Void, any Error>)] =
            [:]
    }

    private let state = Mutex(State())
    private let advancesOnSleep: Bool

    /// With `advancesOnSleep` a sleep returns immediately and advances the time; otherwise the test advances it.
    init(advancesOnSleep: Bool = true) {
        self.advancesOnSleep = advancesOnSleep
    }

    var now: Instant { Instant(time: state.withLock { $0.now }) }
    var minimumResolution: Duration { .nanoseconds(1) }

    /// The durations slept so far, in order, without zero-length sleeps.
    var slept: [Duration] { state.withLock { $0.slept } }

    /// The number of current sleepers.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Advances the time and wakes the sleepers that are due.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.end <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        if advancesOnSleep {
            state.withLock { state in
                guard deadline.time > state.now else { return }
                state.slept.append(deadline.time - state.now)
                state.now = deadline.time
            }
            return
        }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if deadline.time <= state.now { return true }
                    state.slept.append(deadline.time - state.now)
                    state.sleepers[id] = (deadline.time, continuation)
                    return false
                }
                if isOver { continuation.resume() }
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func cancel(_ id: Int) {
        state.withLock { $0.sleepers.removeValue(forKey: id)?.continuation }?
            .resume(throwing: CancellationError())
    }
}

/// Waits up to 30 s until a condition is true.
func eventually(_ isTrue: () -> Bool) async -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(30)
    while clock.now < end {
        if isTrue() { return true }
        // Spinning on `yield` would take the threads from the awaited tasks.
        try? await clock.sleep(for: .milliseconds(1))
    }
    return false
}

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
