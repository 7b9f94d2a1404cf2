import Synchronization

/// Somebody who waits until a connection is ready.
///
/// A class because the waiter, its timer and the event loop refer to the same wait; whoever comes
/// first decides its outcome.
final class RedisConnectionObserver: Sendable {
    typealias Outcome = Result<Void, RedisError>

    private struct State {
        var outcome: Outcome?
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    private let state = Mutex(State())

    /// Waits for the outcome.
    func wait() async -> Outcome {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.continuation = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    /// Decides the outcome, unless it is decided.
    func resume(_ outcome: Outcome) {
        let continuation = state.withLock { state in
            guard state.outcome == nil else { return nil as CheckedContinuation<Outcome, Never>? }
            state.outcome = outcome
            return state.continuation.take()
        }
        continuation?.resume(returning: outcome)
    }
}
