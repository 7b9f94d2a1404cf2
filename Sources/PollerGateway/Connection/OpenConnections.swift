import Synchronization

/// Counts open connections and lets a caller wait until the last one is closed.
final class OpenConnections: Sendable {
    /// The state behind the lock.
    private struct State: Sendable {
        var count = 0
        var waiter: CheckedContinuation<Void, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func opened() {
        state.withLock { $0.count += 1 }
    }

    func closed() {
        state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.waiter.take() : nil
        }?.resume()
    }

    /// Waits until no connection is open, or until cancelled.
    ///
    /// Only one caller may wait.
    func allClosed() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isNow = state.withLock { state in
                    if state.count == 0 || state.isCancelled { return true }
                    state.waiter = waiter
                    return false
                }
                if isNow { waiter.resume() }
            }
        } onCancel: {
            state.withLock { state in
                state.isCancelled = true
                return state.waiter.take()
            }?.resume()
        }
    }
}
