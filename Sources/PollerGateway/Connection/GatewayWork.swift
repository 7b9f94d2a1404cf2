import Synchronization

/// Runs work of connections outside their event loops: checks of credentials and reads of missed events.
///
/// Each piece of work is a task only while it runs.
///
/// The amount is bounded: a connection has at most one check of credentials at a time, and a subscription at most one
/// read. A connection keeps its place among the pending ones of its address until its check has ended, even if its
/// client disconnects. It is a class because connections and the service share it.
final class GatewayWork: Sendable {
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let continuation: AsyncStream<@Sendable () async -> Void>.Continuation

    /// Creates a queue that is processed by ``run()``.
    init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Runs a job as soon as possible.
    func start(_ job: @escaping @Sendable () async -> Void) {
        continuation.yield(job)
    }

    /// Runs jobs until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
            group.cancelAll()
        }
    }
}

/// Counts open connections and lets a caller wait until the last one is closed.
///
/// It is a class because the connections and the service share it.
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
