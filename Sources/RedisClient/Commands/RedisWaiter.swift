import NIOCore
import Synchronization

/// Somebody who waits for one outcome: of a connect, or of a command.
///
/// A class because the waiter, its timer and the event loop refer to the same wait; whoever comes
/// first decides its outcome.
final class RedisWaiter<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, RedisError>

    private struct State {
        var outcome: Outcome?
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    private let state = Mutex(State())

    /// Waits for the outcome; a cancelled task gets ``RedisError/cancelled``.
    func wait() async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state in
                    if state.outcome == nil { state.continuation = continuation }
                    return state.outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            resume(.failure(.cancelled))
        }
    }

    /// Waits for the outcome, at most `timeout`; then it is ``RedisError/notConnected``.
    func wait(timeout: Duration, on eventLoop: any EventLoop) async -> Outcome {
        let timer = eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            self.resume(.failure(.notConnected))
        }
        defer { timer.cancel() }
        return await wait()
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
